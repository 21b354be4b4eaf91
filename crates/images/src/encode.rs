//! Encoding of smaller copies.

use webpx::Unstoppable;

use crate::ImageError;
use crate::raster::Raster;

/// Quality of WebP, 0 to 100: the default of libwebp. A page of 20 pictures of grass has less than 600 kB.
const WEBP_QUALITY: f32 = 75.0;
/// Quality of JPEG, 1 to 100.
const JPEG_QUALITY: u8 = 82;

/// The encoding of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// WebP.
    WebP,
    /// JPEG, or PNG if any pixel is transparent.
    JpegOrPng,
}

/// An encoded copy.
#[derive(Debug)]
pub struct Encoded {
    /// The content.
    pub content: Vec<u8>,
    /// Its media type.
    pub media_type: &'static str,
    /// Whether it has fewer pixels than the image.
    pub is_reduced: bool,
}

/// Encodes an image.
///
/// # Errors
/// If the encoder refuses the image, which has valid sizes here.
pub(crate) fn encode(raster: &Raster, encoding: Encoding) -> Result<Encoded, ImageError> {
    let (content, media_type) = match (encoding, raster.channels) {
        (Encoding::WebP, _) => (webp(raster)?, "image/webp"),
        (Encoding::JpegOrPng, 4) => (png(raster)?, "image/png"),
        (Encoding::JpegOrPng, _) => (jpeg(raster)?, "image/jpeg"),
    };
    Ok(Encoded { content, media_type, is_reduced: false })
}

fn webp(raster: &Raster) -> Result<Vec<u8>, ImageError> {
    let Raster { width, height, channels, pixels } = raster;
    let encoder = match channels {
        4 => webpx::Encoder::new_rgba(pixels, *width, *height),
        _ => webpx::Encoder::new_rgb(pixels, *width, *height),
    };
    encoder.quality(WEBP_QUALITY).encode(Unstoppable).map_err(ImageError::undecodable)
}

fn jpeg(raster: &Raster) -> Result<Vec<u8>, ImageError> {
    let mut content = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut content, JPEG_QUALITY);
    encoder.set_chroma_subsampling_method(jpeg_encoder::ChromaSubsamplingMethod::Average);
    let (width, height) = (raster.width as u16, raster.height as u16);
    let result = encoder.encode(&raster.pixels, width, height, jpeg_encoder::ColorType::Rgb);
    result.map_err(ImageError::undecodable)?;
    Ok(content)
}

fn png(raster: &Raster) -> Result<Vec<u8>, ImageError> {
    let mut content = Vec::new();
    let mut encoder = png::Encoder::new(&mut content, raster.width, raster.height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(ImageError::undecodable)?;
    writer.write_image_data(&raster.pixels).map_err(ImageError::undecodable)?;
    writer.finish().map_err(ImageError::undecodable)?;
    Ok(content)
}
