//! What `drover login` stores: base URLs, the latest token, and how to get the next one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fmt};

use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::error::{Failure, of_file};

/// A text that no log, error or debug output shows.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps a secret, without white space around it.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// Reads a secret from the file of an option. The error does not repeat the path: somebody may have passed the
    /// secret instead of it.
    pub fn read(path: &Path, option: &str) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path);
        let text =
            text.map_err(|error| Failure::Local(format!("Cannot read the file of {option}: {error}.")))?;
        Ok(Self::new(&text))
    }

    /// Returns the secret, to send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// One of the three services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Service {
    /// Files, places, service accounts.
    System,
    /// Loads.
    Logistics,
    /// Listings.
    Livestock,
}

impl Service {
    /// All services.
    pub const ALL: [Self; 3] = [Self::System, Self::Logistics, Self::Livestock];

    /// The name of the service.
    pub fn name(self) -> &'static str {
        ["system", "logistics", "livestock"][self as usize]
    }
}

/// An access token, and when it ends, in seconds since 1970.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// The token.
    pub access_token: Secret,
    /// Absent if the issuer does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

impl Token {
    /// Whether the token is valid at a time in seconds since 1970, as far as its issuer says.
    pub fn is_valid(&self, at: i64) -> bool {
        self.expires_at.is_none_or(|end| end >= at)
    }
}

/// How the stored profile gets another token.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Renewal {
    /// The token endpoint.
    pub endpoint: Url,
    /// The client of the OpenID provider, or the service account.
    pub client_id: String,
    /// What proves who asks.
    #[serde(flatten)]
    pub proof: Proof,
}

/// What proves to a token endpoint who asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Proof {
    /// The secret of a service account.
    ClientSecret(Secret),
    /// The refresh token of a user.
    RefreshToken(Secret),
}

/// What `drover login` stores.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Profile {
    /// Base URLs in the order of [`Service::ALL`].
    pub urls: [Option<Url>; 3],
    /// The latest token.
    pub token: Option<Token>,
    /// How to get the next one.
    pub renewal: Option<Renewal>,
}

impl Profile {
    /// Reads the stored profile. Without one, it is empty.
    pub fn read() -> Result<Self, Failure> {
        let path = path()?;
        match std::fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|_| {
                Failure::Local(format!("{} is damaged. Delete it and log in again.", path.display()))
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(of_file(&path, "read")(error)),
        }
    }

    /// Stores the profile whole, readable for its owner only.
    pub fn write(&self) -> Result<(), Failure> {
        let path = path()?;
        let folder = path.parent().unwrap_or(Path::new("."));
        private_folder(folder).map_err(of_file(folder, "create"))?;
        let text = serde_json::to_vec(self).map_err(|e| Failure::Local(e.to_string()))?;
        write_whole(&path, &text)
    }

    /// Deletes the stored profile. Returns false if there is none.
    pub fn delete() -> Result<bool, Failure> {
        let path = path()?;
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(of_file(&path, "delete")(error)),
        }
    }
}

/// Returns the file of the profile: `drover/profile.json` in the user's configuration folder.
pub fn path() -> Result<PathBuf, Failure> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || env::home_dir().map(|home| home.join(".config"));
    let folder =
        set("XDG_CONFIG_HOME").or_else(|| if cfg!(windows) { set("APPDATA") } else { None }).or_else(home);
    let folder =
        folder.ok_or_else(|| Failure::Local("There is no home folder. Set XDG_CONFIG_HOME.".to_owned()))?;
    Ok(folder.join("drover").join("profile.json"))
}

fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        builder.mode(0o700);
        builder.create(folder)?;
        // The folder may exist already, with another mode.
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
    }
    #[cfg(not(unix))]
    builder.create(folder)
}

/// Writes a file whole: a reader sees the old content or the new one. Only the owner can read it.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?; // created with mode 0600
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)
    };
    write().map(drop).map_err(of_file(path, "write"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_place_of_a_path_is_not_repeated() {
        let failure = Secret::read(Path::new("s3cret"), "--token-file").unwrap_err();
        assert!(!failure.to_string().contains("s3cret"), "{failure}");
    }

    #[test]
    fn debug_output_shows_no_secret() {
        let renewal = Renewal {
            endpoint: Url::parse("http://127.0.0.1/v1/token").unwrap(),
            client_id: "weighbridge".to_owned(),
            proof: Proof::ClientSecret(Secret::new("s3cret\n")),
        };
        let token = Token { access_token: Secret::new("t0ken"), expires_at: None };
        let text =
            format!("{:?}", Profile { token: Some(token), renewal: Some(renewal), ..Profile::default() });
        assert!(
            text.contains("weighbridge") && !text.contains("s3cret") && !text.contains("t0ken"),
            "{text}"
        );
    }

    #[test]
    fn a_profile_is_read_as_it_was_written() {
        let profile = Profile {
            renewal: Some(Renewal {
                endpoint: Url::parse("https://id.example/token").unwrap(),
                client_id: "drover".to_owned(),
                proof: Proof::RefreshToken(Secret::new("r")),
            }),
            ..Profile::default()
        };
        let read: Profile = serde_json::from_slice(&serde_json::to_vec(&profile).unwrap()).unwrap();
        assert!(matches!(read.renewal.unwrap().proof, Proof::RefreshToken(token) if token.reveal() == "r"));
    }
}
