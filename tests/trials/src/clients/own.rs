//! The clients in `clients/` and the command line: their own checks and tests, and the day of a developer, against
//! services with demo data.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use testkit::processes::checkout;
use testkit::processes::environment::variables;
use testkit::processes::process::output;
use testkit::processes::tokens::{DevKeys, Identity};
use testkit::processes::tools;
use testkit::processes::trial::Trial;

const TOKEN_TTL: Duration = Duration::from_secs(3600);
/// The people of deploy/examples/env.sh: user, name, organisation, its name.
const PEOPLE: [(&str, &str, &str, &str); 7] = [
    ("ruth", "Ruth", "hereford-haulage", "Hereford Haulage"),
    ("owen", "Owen", "border-grain", "Border Grain Merchants"),
    ("dai", "Dai", "dai-evans", "Dai Evans Transport"),
    ("carys", "Carys", "penybont-farm", "Penybont Farm"),
    ("tom", "Tom", "wye-valley-farm", "Wye Valley Farm"),
    ("gwen", "Gwen", "penybont-farm", "Penybont Farm"),
    ("anna", "Anna", "drover", "Drover"),
];

/// Checks and tests the clients against services of their own.
pub fn check(trial: &Trial<'_>) -> Result<()> {
    let mut config = trial.stack_config("own-clients", false)?;
    for environment in &mut config.environment {
        environment.extend(variables([("SERVER__DEMO_DATA", "true"), ("SERVER__CORS_ORIGINS", "loopback")]));
    }
    // Receivers of webhooks are on this machine.
    let private = variables([("SERVICE__WEBHOOK_ALLOW_PRIVATE", "true")]);
    config.environment[1..].iter_mut().for_each(|environment| environment.extend(private.clone()));
    let keys = DevKeys::load_or_create(&config.keys)?;
    let stack = trial.stack(&config)?;
    let mut variables: BTreeMap<String, String> =
        stack.services.iter().map(|service| (service.name.to_uppercase(), service.url(""))).collect();
    for (user, name, org, org_name) in PEOPLE {
        let roles = if user == "anna" { vec!["admin".to_owned()] } else { Vec::new() };
        let (name, org, org_name) = (Some(name), Some(org), Some(org_name));
        let identity = Identity { user, name, org, org_name, roles: &roles };
        variables.insert(user.to_uppercase(), identity.token(&keys, TOKEN_TTL));
    }
    let own = OwnClients { trial, variables };
    own.python()?;
    own.typescript()?;
    own.command_line()
}

struct OwnClients<'a> {
    trial: &'a Trial<'a>,
    /// The addresses of the services and the tokens, by their names in deploy/examples/env.sh.
    variables: BTreeMap<String, String>,
}

impl OwnClients<'_> {
    fn python(&self) -> Result<()> {
        let root = checkout::root().join("clients/python");
        self.run(
            Command::new(root.join("check"))
                .env("PYTHON", tools::find("python3")?)
                .env("PYTHONPATH", root.join("src")),
        )?;
        self.trial.note("clients/python", "checked, tested, a day done, built", "mypy --strict");
        Ok(())
    }

    fn typescript(&self) -> Result<()> {
        let root = checkout::root().join("clients/typescript");
        self.run(Command::new(root.join("generate")).arg("--check").current_dir(&root))?;
        for project in [".", "test"] {
            self.run(Command::new(tools::find("tsc")?).args(["-p", project]).current_dir(&root))?;
        }
        let compiler = tools::find("tsc")?;
        let path = tools::path_with(&[compiler.parent().context("tsc is in no folder")?])?;
        self.run(Command::new(root.join("document")).env("PATH", path).current_dir(&root))?;
        let node = tools::find("node")?;
        let tests = ["failures", "webhooks", "live", "browser"];
        let tests = tests.map(|name| format!("test/build/test/{name}.test.js"));
        let options = ["--test", "--test-timeout=120000"];
        let browser = tools::find("chromium-headless-shell")?;
        self.run(Command::new(&node).args(options).args(tests).env("CHROMIUM", browser).current_dir(&root))?;
        self.run(Command::new(&node).arg("test/build/examples/day.js").current_dir(&root))?;
        self.trial.note("clients/typescript", "checked, tested, a day done", "tsc --strict");
        Ok(())
    }

    fn command_line(&self) -> Result<()> {
        // With all packages, because cargo would build the dependencies again with fewer features.
        let arguments = ["test", "--locked", "--workspace", "--test", "journey"];
        self.run(checkout::cargo().args(arguments).current_dir(checkout::root()))?;
        let program = checkout::target_dir()?.join("debug/drover");
        let client = checkout::root().join("crates/cli/tests/mcp_client.py");
        self.run(Command::new(tools::find("python3")?).arg(client).arg(&program))?;
        let day = checkout::root().join("deploy/examples/day-by-command-line.sh");
        self.run(Command::new(day).env("DROVER", &program))?;
        self.trial.note("the command line, and its server for assistants", "a day done", "as documented");
        Ok(())
    }

    /// Runs a program with the addresses and the tokens.
    fn run(&self, program: &mut Command) -> Result<()> {
        self.trial.check()?;
        output(program.envs(&self.variables))
            .context("with deploy/examples/env.sh, the command fails too")?;
        Ok(())
    }
}
