//! The examples of `deploy/examples` against the services of the tests.

use std::path::Path;
use std::process::Command;

use super::*;

/// The people of `deploy/examples/env.sh`: the variable of each token, and the user.
fn people(env: &str) -> Vec<(String, User)> {
    // person RUTH ruth Ruth hereford-haulage "Hereford Haulage" &&
    let person = |line: &str| {
        let (words, rest) = line.trim().strip_prefix("person ")?.split_once(" \"")?;
        let (organisation, role) = rest.split_once('"')?;
        let [variable, user, name, org]: [&str; 4] = words.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let mut user =
            User::individual(user).with("name", name).with("org", org).with("orgName", organisation);
        if role.trim() == "admin" {
            user.claims["roles"] = serde_json::json!(["admin"]);
        }
        Some((variable.to_owned(), user))
    };
    env.lines().filter_map(person).collect()
}

testkit::on_both! {
    async fn all_steps_of_the_examples_pass(backend) {
        let drover = Drover::start(backend).await;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/examples");
        let people = people(&std::fs::read_to_string(folder.join("env.sh")).unwrap());
        assert_eq!(people.len(), 8);
        let mut runner = Command::new(folder.join("run"));
        for (variable, user) in people {
            runner.env(variable, user.token());
        }
        for (variable, app) in
            [("SYSTEM", &drover.system), ("LOGISTICS", &drover.logistics), ("LIVESTOCK", &drover.livestock)]
        {
            runner.env(variable, &app.url);
        }
        let output = tokio::task::spawn_blocking(move || runner.env_remove("AT").output()).await.unwrap().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success() && text.contains("steps passed"), "{text}");
    }
}
