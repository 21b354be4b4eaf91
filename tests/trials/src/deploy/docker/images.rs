//! Calls of the docker program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use testkit::processes::checkout::{self, PROGRAMS};
use testkit::processes::process::output;
use testkit::processes::tools;
use testkit::processes::trial::Trial;

/// Time until a container is healthy.
pub const HEALTHY_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs docker and returns its output.
pub fn docker(arguments: &[&str]) -> Result<String> {
    Ok(output(Command::new("docker").args(arguments))?.trim().to_owned())
}

/// Returns a member of a container's description, such as `.State.Pid`.
pub fn inspect(container: &str, member: &str) -> Result<String> {
    docker(&["container", "inspect", "--format", &format!("{{{{{member}}}}}"), container])
}

/// Returns the address of a container in a network.
pub fn address(container: &str, network: &str) -> Result<String> {
    inspect(container, &format!("(index .NetworkSettings.Networks {network:?}).IPAddress"))
}

/// Runs a command of a shell in a container, as its user.
pub fn run_in(container: &str, command: &str) -> Result<String> {
    docker(&["exec", container, "sh", "-c", command])
}

/// Waits until Docker has started a container again and it is healthy.
pub fn wait_restarted(trial: &Trial<'_>, container: &str, restarts: u32) -> Result<()> {
    let is_started = || Ok(inspect(container, ".RestartCount")?.parse::<u32>()? > restarts);
    trial.wait_for("Docker starts the container again", HEALTHY_TIMEOUT, is_started)?;
    wait_healthy(trial, &[container.to_owned()]).map(drop)
}

/// Waits until containers are healthy and returns the time that it took.
pub fn wait_healthy(trial: &Trial<'_>, containers: &[String]) -> Result<Duration> {
    trial.wait_for("the containers are healthy", HEALTHY_TIMEOUT, || {
        let states = containers.iter().map(|container| inspect(container, ".State.Health.Status"));
        Ok(states.collect::<Result<Vec<_>>>()?.iter().all(|state| state == "healthy"))
    })
}

/// Removes images.
pub fn remove_images(ids: &[String]) {
    let mut command = Command::new("docker");
    command.args(["image", "rm", "--force"]).args(ids);
    if !ids.is_empty()
        && let Err(error) = output(&mut command)
    {
        eprintln!("  cannot remove the images: {error:#}");
    }
}

/// Images of the services. Dropped, they and the stand-ins that were made for them are removed.
#[derive(Debug)]
pub struct Images<'a> {
    trial: &'a Trial<'a>,
    /// Their tag.
    pub version: String,
    /// The tag of another version of them, which the short form has of livestock only.
    pub next: String,
    /// A docker program that can build.
    builder: PathBuf,
    _stand_ins: StandIns,
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
        let stand_ins = StandIns::make(trial, &[])?;
        let images = Self { trial, version, next, builder: builder.trim().into(), _stand_ins: stand_ins };
        let begun = Instant::now();
        let root = checkout::root();
        let programs = [format!("PROGRAMS={}", images.import_programs()?)];
        let mut sizes = Vec::new();
        for service in PROGRAMS {
            images.build_service(service, &images.version, &root, &programs)?;
            if service == "livestock" {
                images.build_service(service, &images.next, &root, &programs)?;
            }
            let size = docker(&["image", "inspect", "--format={{.Size}}", &name(service, &images.version)])?;
            sizes.push(format!("{} MiB", size.parse::<u64>()? >> 20));
        }
        let login = format!("{LOGIN}:{}", images.version);
        output(images.build_command().args(["--tag", &login]).arg(root.join("deploy/login")))?;
        sizes.push(format!(
            "{} MiB",
            docker(&["image", "inspect", "--format={{.Size}}", &login])?.parse::<u64>()? >> 20
        ));
        let figure = format!("{} after {:.0} s", sizes.join(", "), begun.elapsed().as_secs_f64());
        trial.note(
            "images by deploy/Dockerfile: system, logistics, livestock, console; login",
            figure,
            "built",
        );
        Ok(images)
    }

    /// Builds an image of a service that migrates and then only waits, so that it is never healthy. Returns its tag.
    pub fn build_waiting(&self, service: &str) -> Result<String> {
        let version = format!("{}-waiting", self.version);
        let folder = self.trial.path("waiting");
        fs::create_dir_all(&folder)?;
        let command = r#"["/bin/sh", "-c", "[ \"$0\" != migrate ] || exec drover migrate; exec sleep 1000"]"#;
        fs::write(
            folder.join("Dockerfile"),
            format!("FROM {}\nENTRYPOINT {command}\n", name(service, &self.version)),
        )?;
        output(self.build_command().args(["--tag", &name(service, &version)]).arg(&folder))?;
        Ok(version)
    }

    /// Builds the image of a service by deploy/Dockerfile, in a folder, with more build arguments.
    pub fn build_service(&self, service: &str, version: &str, folder: &Path, more: &[String]) -> Result<()> {
        let mut build = self.build_command();
        build.arg("--file").arg(checkout::root().join("deploy/Dockerfile"));
        let arguments = [
            format!("SERVICE={service}"),
            format!("VERSION={version}"),
            format!("REVISION={}", revision(version)),
        ];
        for argument in arguments.iter().chain(more) {
            build.args(["--build-arg", argument]);
        }
        output(build.args(["--tag", &name(service, version)]).arg(folder)).map(drop)
    }

    fn build_command(&self) -> Command {
        let mut build = Command::new(&self.builder);
        build.env("DOCKER_BUILDKIT", "1").args(["build", "--quiet"]);
        build
    }

    /// Makes an image of the trial's programs, for the argument PROGRAMS of the Dockerfile.
    fn import_programs(&self) -> Result<String> {
        let folder = self.trial.path("programs-image");
        for name in ["programs", "licences"] {
            fs::create_dir_all(folder.join(name)).context("cannot create a folder")?;
        }
        for service in PROGRAMS {
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
        let filters = ["drover/*", LOGIN].map(|name| format!("reference={name}:{}*", self.version));
        let ids = docker(&["image", "ls", "--quiet", "--filter", &filters[0], "--filter", &filters[1]])
            .unwrap_or_default();
        remove_images(&ids.lines().map(str::to_owned).collect::<Vec<_>>());
    }
}

/// The image of the OpenID provider.
const LOGIN: &str = "drover-login";

/// The revision that the images of a version are labelled with.
pub fn revision(version: &str) -> String {
    format!("revision-of-{version}")
}

fn name(service: &str, version: &str) -> String {
    format!("drover/{service}:{version}")
}

/// Label of the stand-ins, and of all images that are built from them.
const LABEL: &str = "label=drover.stand-in";

/// Ids of the stand-ins that were made. Dropped, they are removed.
#[derive(Debug)]
pub struct StandIns(Vec<String>);

impl StandIns {
    /// Makes the missing stand-ins. `arguments` are those of `deploy/docker/stand-ins.sh`.
    pub fn make(trial: &Trial<'_>, arguments: &[&str]) -> Result<Self> {
        let begun = Instant::now();
        let before = list()?;
        let weed = tools::find("weed")?;
        let folders: Vec<_> = weed.parent().into_iter().chain([Path::new("/usr/sbin")]).collect();
        let mut script = Command::new(checkout::root().join("deploy/docker/stand-ins.sh"));
        let result = output(script.args(arguments).env("PATH", tools::path_with(&folders)?));
        let made = Self(list()?.into_iter().filter(|id| !before.contains(id)).collect());
        result?;
        let figure = format!("{} made after {:.0} s", made.0.len(), begun.elapsed().as_secs_f64());
        trial.note(format!("missing base images {}", arguments.concat()).trim_end(), figure, "present");
        Ok(made)
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        remove_images(&self.0);
    }
}

/// Returns the ids of all stand-ins.
fn list() -> Result<Vec<String>> {
    let ids = docker(&["image", "ls", "--quiet", "--filter", LABEL])?;
    Ok(ids.lines().map(str::to_owned).collect())
}
