//! `clients`: our own clients and the command line pass their checks and do a day's work. In the long form, generators
//! also make clients from the OpenAPI documents that the services publish: these pass strict type checks, and programs
//! that use them sell a load and a flock.

mod own;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, fs, thread};

use anyhow::{Result, anyhow};
use testkit::processes::process::output;
use testkit::processes::service::ServiceProcess;
use testkit::processes::tools;
use testkit::processes::trial::Trial;

/// Organisation of the user of the programs.
const ORG: &str = "border-grain";
/// The programs, by file name.
const TYPESCRIPT: (&str, &str) = ("walk.ts", include_str!("walk.ts"));
const PYTHON: [(&str, &str); 2] = [
    ("walk_openapi_generator.py", include_str!("walk_openapi_generator.py")),
    ("walk_openapi_python_client.py", include_str!("walk_openapi_python_client.py")),
];

/// Checks and runs our own clients and, in the long form, generated ones.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    own::check(trial)?;
    if trial.short {
        return Ok(());
    }
    let stack = trial.stack(&trial.stack_config("clients", false)?)?;
    let clients = Clients { folder: trial.path("generated"), services: &stack.services };
    let begun = Instant::now();
    clients.generate()?;
    trial.note("clients of three generators", format!("{:.0} s", begun.elapsed().as_secs_f64()), "generated");
    trial.check()?;
    clients.check_typescript()?;
    trial.note("typescript-fetch", "compiled, load and flock sold", "tsc --strict");
    trial.check()?;
    clients.check_python()?;
    trial.note("python, openapi-python-client", "checked, load and flock sold", "mypy");
    Ok(())
}

/// The clients in a folder: `walk.ts` beside a folder for each service, and Python packages.
struct Clients<'a> {
    folder: PathBuf,
    services: &'a [ServiceProcess],
}

impl Clients<'_> {
    /// Runs the generators, those of different services concurrently.
    fn generate(&self) -> Result<()> {
        thread::scope(|scope| {
            let threads: Vec<_> =
                self.services.iter().map(|service| scope.spawn(|| self.generate_for(service))).collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(anyhow!("a thread panicked"))))
        })
    }

    fn generate_for(&self, service: &ServiceProcess) -> Result<()> {
        let (name, document) = (service.name, service.url("/openapi.json"));
        let openapi_generator = |generator: &str, folder: PathBuf, options: &[&str]| {
            let mut command = Command::new(tools::find("openapi-generator-cli")?);
            command.args(["generate", "-g", generator, "-i", &document, "-o"]).arg(folder).args(options);
            output(&mut command)
        };
        openapi_generator("typescript-fetch", self.folder.join(name), &[])?;
        let package = format!("drover_{name}");
        let folder = self.folder.join("python").join(name);
        openapi_generator("python", folder, &["--package-name", &package])?;

        let mut python_client = Command::new(tools::find("openapi-python-client")?);
        python_client.args(["generate", "--fail-on-warning", "--url", &document]);
        let target = self.folder.join("python-client").join(name);
        fs::create_dir_all(self.folder.join("python-client"))?;
        output(with_python_tools(&mut python_client)?.arg("--output-path").arg(target))?;
        Ok(())
    }

    fn check_typescript(&self) -> Result<()> {
        let source = self.write(TYPESCRIPT)?;
        let mut compiler = Command::new(tools::find("tsc")?);
        compiler.args(["--strict", "--target", "es2020", "--lib", "es2020,dom,dom.iterable"]);
        compiler.args(["--module", "commonjs", "--outDir"]).arg(self.folder.join("js")).arg(&source);
        output(&mut compiler)?;
        self.run(Command::new(tools::find("node")?).arg(self.folder.join("js/walk.js")))
    }

    fn check_python(&self) -> Result<()> {
        let sources = PYTHON.into_iter().map(|program| self.write(program)).collect::<Result<Vec<_>>>()?;
        let packages = ["python", "python-client"].map(|generator| self.folder.join(generator));
        let packages = packages
            .iter()
            .flat_map(|packages| self.services.iter().map(|service| packages.join(service.name)));
        let path = env::join_paths(packages)?;
        let mut checker = Command::new(tools::find("mypy")?);
        checker.current_dir(&self.folder).env("MYPYPATH", &path).args(["--cache-dir", "mypy-cache"]);
        for service in self.services {
            let name = service.name;
            checker.args(["-p", &format!("drover_{name}"), "-p", &format!("drover_{name}_client")]);
        }
        output(&mut checker)?;
        for source in sources {
            let mut checker = Command::new(tools::find("mypy")?);
            checker.current_dir(&self.folder).env("MYPYPATH", &path).args(["--cache-dir", "mypy-cache"]);
            output(checker.arg(&source))?;
            self.run(Command::new(tools::find("python3")?).env("PYTHONPATH", &path).arg(source))?;
        }
        Ok(())
    }

    fn write(&self, (name, content): (&str, &str)) -> Result<PathBuf> {
        let path = self.folder.join(name);
        fs::write(&path, content)?;
        Ok(path)
    }

    /// Runs a program with the base URLs and a token.
    fn run(&self, program: &mut Command) -> Result<()> {
        for service in self.services {
            program.env(service.name.to_uppercase(), service.url(""));
        }
        output(program.env("TOKEN", self.services[0].token(Some(ORG))))?;
        Ok(())
    }
}

/// Puts the folder of the Python tools on `PATH`: the generator formats its code with ruff.
fn with_python_tools(command: &mut Command) -> Result<&mut Command> {
    let ruff = tools::find("ruff")?;
    let folder = ruff.parent().unwrap_or(Path::new("/"));
    Ok(command.env("PATH", tools::path_with(&[folder])?))
}
