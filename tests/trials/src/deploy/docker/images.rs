//! The images: base images or stand-ins, and those of the services.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use stack::checkout::{self, SERVICES};
use stack::tools;
use stack::trial::Trial;

use crate::command::output;

/// Label of the stand-ins, and of all images that are built from them.
const STAND_INS: &str = "label=drover.stand-in";

/// Images of the services. Dropped, they and the stand-ins that were made for them are removed.
#[derive(Debug)]
pub struct Images<'a> {
    trial: &'a Trial<'a>,
    /// Their tag.
    pub version: String,
    /// A docker program that can build.
    docker: PathBuf,
    /// Ids of the stand-ins that existed before.
    kept: Vec<String>,
}

impl<'a> Images<'a> {
    /// Builds the images.
    ///
    /// # Errors
    /// Docker does not run, or it cannot build.
    pub fn build(trial: &'a Trial<'a>) -> Result<Self> {
        let docker = output(&mut Command::new(checkout::root().join("deploy/docker/builder.sh")))?;
        let version = format!("trial-{}", std::process::id());
        let images = Self { trial, version, docker: docker.trim().into(), kept: list(STAND_INS) };
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
            let image = images.name(service);
            let mut build = images.build_command(service, &image);
            output(build.args(["--build-arg", &format!("PROGRAMS={programs}")]).arg("."))?;
            let format = "--format={{.Size}}";
            let bytes: u64 =
                output(Command::new("docker").args(["image", "inspect", format, &image]))?.trim().parse()?;
            sizes.push(format!("{} MiB", bytes >> 20));
        }
        let figure = format!("{} after {:.0} s", sizes.join(", "), begun.elapsed().as_secs_f64());
        trial.note("images by deploy/Dockerfile, of debug programs", figure, "built");
        Ok(images)
    }

    /// Builds an image of a service whose commands fail. Returns its tag.
    pub fn build_failing(&self, service: &str) -> Result<String> {
        let version = format!("{}-failing", self.version);
        let folder = self.trial.path("failing");
        fs::create_dir_all(&folder)?;
        fs::write(
            folder.join("Dockerfile"),
            format!("FROM {}\nENTRYPOINT [\"/bin/false\"]\n", self.name(service)),
        )?;
        let mut build = Command::new(&self.docker);
        build.env("DOCKER_BUILDKIT", "1").args(["build", "--quiet", "--tag"]);
        output(build.arg(format!("drover/{service}:{version}")).arg(&folder))?;
        Ok(version)
    }

    fn name(&self, service: &str) -> String {
        format!("drover/{service}:{}", self.version)
    }

    fn build_command(&self, service: &str, image: &str) -> Command {
        let mut build = Command::new(&self.docker);
        build.env("DOCKER_BUILDKIT", "1").current_dir(checkout::root());
        build.args(["build", "--quiet", "--file", "deploy/Dockerfile", "--tag", image]);
        build.args(["--build-arg", &format!("SERVICE={service}")]);
        build
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
    let mut list = Command::new("docker");
    list.args(["image", "ls", "--quiet", "--filter", filter]);
    output(&mut list).unwrap_or_default().lines().map(str::to_owned).collect()
}
