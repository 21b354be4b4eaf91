//! Imports of spreadsheets (docs/api/batches.md).

use std::path::Path;

use serde_json::{Value, json};

use crate::args::ImportArgs;
use crate::client::{Client, Content, FormFile, Payload, Request};
use crate::error::{Failure, hints, plain, stdin};
use crate::loads::save;
use crate::output::{self, Column, Output, column, whole};
use crate::profile::Service;

const PROBLEMS: [Column; 5] = [
    whole("ROW", "/row"),
    whole("PLACE", "/place"),
    whole("COLUMN", "/column"),
    column("PROBLEM", "/message"),
    column("INSTEAD", "/hint"),
];

/// Imports spreadsheets, or with `--dry-run` lets the service check them.
pub async fn import(client: &Client, output: Output, args: &ImportArgs) -> Result<(), Failure> {
    let files = args.files.iter().map(|path| form_file(path)).collect::<Result<_, _>>()?;
    let fields = fields(args);
    let payload = Payload::Form(fields, files);
    let mut request =
        Request::post(Service::Logistics, "/v1/loads/batch", payload, args.write.idempotency_key.clone());
    let result = client.json(&request).await;
    let problems = match &result {
        Ok(result) => &result["validation"],
        Err(Failure::Refused(refusal)) => &refusal.body["validation"],
        Err(_) => &Value::Null,
    };
    let problems = problems.as_array().map(Vec::as_slice).unwrap_or_default();
    if let (Some(path), Payload::Form(fields, _)) = (&args.problems, &mut request.payload)
        && !problems.is_empty()
    {
        let is_workbook = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("xlsx"));
        fields.push(("format".to_owned(), if is_workbook { "XLSX" } else { "CSV" }.to_owned()));
        request.key = None; // the key is that of the request above
        save(client.send(&request).await?, Some(path), "problems").await?;
    }
    if !output.json && !problems.is_empty() {
        let rows: Vec<_> = problems.iter().map(problem).collect();
        output.rows(&rows, &PROBLEMS)?;
        output::line(&advice(problems))?;
    }
    match result {
        Ok(result) => output.action(&result, &sentence(&result)),
        // The table has the problems already: the message alone is left.
        Err(Failure::Refused(mut refusal)) if !output.json => {
            refusal.body["validation"] = Value::Null;
            Err(Failure::Refused(refusal))
        }
        Err(failure) => Err(failure),
    }
}

/// Returns the text fields of the form.
fn fields(args: &ImportArgs) -> Vec<(String, String)> {
    let flag = |is_set: bool| is_set.then(|| "true".to_owned());
    let headings: serde_json::Map<_, _> = args
        .headings
        .iter()
        .map(|(heading, column)| {
            (heading.clone(), if column.is_empty() { Value::Null } else { json!(column) })
        })
        .collect();
    let all = [
        ("organisationId", args.organisation_id.clone()),
        ("organisationName", args.organisation_name.clone()),
        ("dryRun", flag(args.write.dry_run)),
        ("dateOrder", Some(args.date_order.clone())),
        ("decimal", Some(args.decimal.clone())),
        ("encoding", Some(args.encoding.clone())),
        ("ifExists", args.if_exists.clone()),
        ("matchBy", args.match_by.clone()),
        ("invalidRows", args.leave_out_invalid.then(|| "leaveOut".to_owned())),
        ("repeat", flag(args.repeat)),
        ("sheet", args.sheet.clone()),
        ("headings", (!headings.is_empty()).then(|| Value::from(headings).to_string())),
        ("corrections", (!args.corrections.is_empty()).then(|| json!(args.corrections).to_string())),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Returns a file of the command line as a file of a form. `-` is CSV from standard input.
fn form_file(path: &Path) -> Result<FormFile, Failure> {
    if path.as_os_str() == "-" {
        return Ok(FormFile { name: "stdin.csv".to_owned(), content: Content::Bytes(stdin()?) });
    }
    FormFile::new(path)
}

/// Returns a validation entry as a row of the table of problems.
fn problem(entry: &Value) -> Value {
    let path = plain(&entry["path"]);
    let (row, column) = match path.strip_prefix("rows[").and_then(|rest| rest.split_once(']')) {
        Some((row, column)) => (row.to_owned(), column.trim_start_matches('.').to_owned()),
        None => (String::new(), path),
    };
    let data = &entry["data"];
    let mut place: Vec<String> =
        [&data["file"], &data["sheet"], &data["cell"]].into_iter().map(plain).collect();
    if data["cell"].is_null() && !data["line"].is_null() {
        place.push(format!("line {}", data["line"]));
    }
    place.retain(|part| !part.is_empty());
    let hint = hints(data);
    json!({"row": row, "place": place.join(" "), "column": column, "message": entry["message"],
        "hint": hint.trim_start_matches("; ")})
}

/// Returns how to correct the first problem that has a suggestion, or that is a cell.
fn advice(problems: &[Value]) -> String {
    let has_suggestion = |entry: &&Value| entry["data"]["suggestions"][0].is_string();
    let is_cell = |entry: &&Value| plain(&entry["path"]).starts_with("rows[");
    let Some(entry) = problems.iter().find(has_suggestion).or_else(|| problems.iter().find(is_cell)) else {
        return String::new();
    };
    let row = problem(entry);
    let value =
        if has_suggestion(&entry) { plain(&entry["data"]["suggestions"][0]) } else { "VALUE".to_owned() };
    let quoted = value.replace('\'', r"'\''");
    format!(
        "\nCorrect the sheet, or import it again with corrections such as: --correct '{}:{}={quoted}'",
        plain(&row["row"]),
        plain(&row["column"])
    )
}

/// Returns the result of an import for a person.
fn sentence(result: &Value) -> String {
    let count = |member: &str, name: &str| {
        let number = result[member].as_u64().filter(|number| *number > 0)?;
        Some(format!("{number} {name}"))
    };
    let counts: Vec<_> = [
        count("updated", "updated"),
        count("unchanged", "unchanged"),
        count("skipped", "skipped"),
        count("leftOut", "left out"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let message = output::clean(&plain(&result["message"]));
    let batch = result["batchId"].as_str().map(|id| format!(" Batch {id}.")).unwrap_or_default();
    let counts = if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) };
    format!("{message}{counts}{batch}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_names_row_place_and_column() {
        let entry = json!({"path": "rows[1].commodityName", "code": "unknown_reference", "message": "is unknown",
            "data": {"line": 3, "cell": "C3", "sheet": "Loads", "suggestions": ["Miller's Wheat"]}});
        assert_eq!(
            problem(&entry),
            json!({"row": "1", "place": "Loads C3", "column": "commodityName", "message": "is unknown",
                "hint": "did you mean: Miller's Wheat"})
        );
        let text = advice(&[json!({"path": "file", "data": {}}), entry]);
        assert!(text.ends_with(r"--correct '1:commodityName=Miller'\''s Wheat'"), "{text}");
    }

    #[test]
    fn a_problem_of_the_form_has_no_row() {
        let row = problem(
            &json!({"path": "dateOrder", "message": "is required", "data": {"allowed": ["dmy", "mdy"]}}),
        );
        assert_eq!((plain(&row["row"]), plain(&row["column"])), (String::new(), "dateOrder".to_owned()));
        assert_eq!(row["hint"], "allowed: dmy, mdy");
    }
}
