//! The images: base images or stand-ins, and those of the services.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use stack::checkout::{self, SERVICES};
use stack::tools;
use stack::trial::Trial;

use super::engine::docker;
use crate::command::output;

/// Label of the stand-ins, and of all images that are built from them.
const STAND_INS: &str = "label=drover.stand-in";

/// Images of the services. Dropped, they and the stand-ins that were made for them are removed.
#[derive(Debug)]
pub struct Images<'a> {
    trial: &'a Trial<'a>,
    /// Their tag.
    pub version: String,
    /// The tag of another version of them.
    pub next: String,
    /// A docker program that can build.
    builder: PathBuf,
    /// Ids of the stand-ins that existed before.
    kept: Vec<String>,
}

impl<'a> Images<'a> {
    /// Builds the images.
    ///
    /// # Errors
    /// Docker does not run, or it cannot build.
    pub fn build(trial: &'a Trial<'a>) -> Result<Self> {
        let builder = output(&mut Command::new(checkout::root().join("deploy/docker/builder.sh")))?;
        let version = format!("trial-{}", std::process::id());
        let next = format!("{version}-next");
        let images = Self { trial, version, next, builder: builder.trim().into(), kept: list(STAND_INS) };
        let begun = Instant::now();
        let mut stand_ins = Command::new(checkout::root().join("deploy/docker/stand-ins.sh"));
        let weed = tools::find("weed")?;
        let folders: Vec<_> = weed.parent().into_iter().chain([Path::new("/usr/sbin")]).collect();
        output(stand_ins.env("PATH", tools::path_with(&folders)?))?;
        trial.note("base images", format!("present after {:.0} s", begun.elapsed().as_secs_f64()), "present");

        let begun = Instant::now();
        let programs = images.import_programs()?;
        let mut sizes = Vec::new();
        for service in SERVICES {
            for version in [&images.version, &images.next] {
                images.build_service(service, version, &programs)?;
            }
            let size = docker(&["image", "inspect", "--format={{.Size}}", &name(service, &images.version)])?;
            sizes.push(format!("{} MiB", size.parse::<u64>()? >> 20));
        }
        let figure = format!("{} after {:.0} s", sizes.join(", "), begun.elapsed().as_secs_f64());
        trial.note("images by deploy/Dockerfile: system, logistics, livestock", figure, "built");
        Ok(images)
    }

    /// Builds an image of a service whose commands fail. Returns its tag.
    pub fn build_failing(&self, service: &str) -> Result<String> {
        let version = format!("{}-failing", self.version);
        let folder = self.trial.path("failing");
        fs::create_dir_all(&folder)?;
        fs::write(
            folder.join("Dockerfile"),
            format!("FROM {}\nENTRYPOINT [\"/bin/false\"]\n", name(service, &self.version)),
        )?;
        let mut build = Command::new(&self.builder);
        build.env("DOCKER_BUILDKIT", "1").args(["build", "--quiet", "--tag"]);
        output(build.arg(name(service, &version)).arg(&folder))?;
        Ok(version)
    }

    fn build_service(&self, service: &str, version: &str, programs: &str) -> Result<()> {
        let mut build = Command::new(&self.builder);
        build.env("DOCKER_BUILDKIT", "1").current_dir(checkout::root());
        build.args(["build", "--quiet", "--file", "deploy/Dockerfile", "--tag", &name(service, version)]);
        for argument in
            [format!("SERVICE={service}"), format!("VERSION={version}"), format!("PROGRAMS={programs}")]
        {
            build.args(["--build-arg", &argument]);
        }
        output(build.arg(".")).map(drop)
    }

    /// Makes an image of the trial's programs, for the argument PROGRAMS of the Dockerfile.
    fn import_programs(&self) -> Result<String> {
        let folder = self.trial.path("programs-image");
        for name in ["programs", "licences"] {
            fs::create_dir_all(folder.join(name)).context("cannot create a folder")?;
        }
        for service in SERVICES {
            let mut strip = Command::new("strip");
            strip.arg("-o").arg(folder.join("programs").join(service)).arg(self.trial.binaries.join(service));
            output(&mut strip)?;
        }
        fs::copy(checkout::root().join("LICENSE"), folder.join("licences/LICENSE"))?;
        let (image, archive) = (format!("drover/programs:{}", self.version), self.trial.path("programs.tar"));
        let mut tar = Command::new("tar");
        output(tar.arg("-C").arg(&folder).arg("-cf").arg(&archive).args(["programs", "licences"]))?;
        output(Command::new("docker").arg("import").arg(&archive).arg(&image))?;
        Ok(image)
    }
}

impl Drop for Images<'_> {
    fn drop(&mut self) {
        let mut images = list(&format!("reference=drover/*:{}*", self.version));
        images.extend(list(STAND_INS).into_iter().filter(|id| !self.kept.contains(id)));
        let mut remove = Command::new("docker");
        remove.args(["image", "rm", "--force"]).args(images);
        if let Err(error) = output(&mut remove) {
            eprintln!("  cannot remove the images: {error:#}");
        }
    }
}

/// Returns the ids of the images that match a filter.
fn list(filter: &str) -> Vec<String> {
    let ids = docker(&["image", "ls", "--quiet", "--filter", filter]);
    ids.unwrap_or_default().lines().map(str::to_owned).collect()
}

fn name(service: &str, version: &str) -> String {
    format!("drover/{service}:{version}")
}
