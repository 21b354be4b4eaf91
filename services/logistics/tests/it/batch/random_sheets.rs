//! Random sheets with random faults: the same upload succeeds with the corrections that follow from the first response.

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::xlsx::workbook;
use super::*;

const SHEETS: usize = 80;
const COLUMNS: [&str; 9] = [
    "reference",
    "deliveryDateISO",
    "commodityName",
    "weight",
    "weightNet",
    "weightUnit",
    "ticketNumber",
    "pickupPostcode",
    "tags",
];

fn pick<'a>(random: &mut StdRng, values: &[&'a str]) -> &'a str {
    values[random.random_range(0..values.len())]
}

/// A sheet as it should be, with the fields of its form.
struct Sheet {
    rows: Vec<[String; COLUMNS.len()]>,
    /// The delivery date and the weight of each row.
    values: Vec<(String, f64)>,
    fields: Vec<(&'static str, String)>,
    date_order: &'static str,
    decimal: &'static str,
    delimiter: &'static str,
}

impl Sheet {
    fn new(random: &mut StdRng, sheet: usize, commodities: &[&str]) -> Self {
        let date_order = pick(random, &["iso", "dmy", "mdy"]);
        let decimal = pick(random, &["point", "comma"]);
        let mut fields = vec![("encoding", pick(random, &["utf-8", "auto"]).to_owned())];
        for (name, value) in [("dateOrder", date_order), ("decimal", decimal)] {
            fields.push((name, if random.random_bool(0.5) { "auto" } else { value }.to_owned()));
        }
        let (mut rows, mut values) = (Vec::new(), Vec::new());
        for n in 0..random.random_range(1..15) {
            let (month, day) = (random.random_range(1..13), random.random_range(1..29));
            let date = match date_order {
                "dmy" => format!("{day}/{month:02}/2026"),
                "mdy" => format!("{month}/{day}/2026"),
                _ => format!("2026-{month:02}-{day:02}"),
            };
            let tonnes =
                f64::from(random.random_range(10..400_000)) / f64::from([1, 10, 1_000, 10_000][n % 4]);
            let tonnes = (tonnes % 900.0 * 10_000.0).round() / 10_000.0;
            let number =
                |tonnes: f64| tonnes.to_string().replace('.', if decimal == "comma" { "," } else { "." });
            rows.push([
                format!("Sheet {sheet} \u{e9}-{n}"),
                date,
                pick(random, commodities).to_owned(),
                number(tonnes),
                if random.random_bool(0.5) { number(tonnes) } else { String::new() },
                pick(random, &["tonne", ""]).to_owned(),
                pick(random, &["", "T-1", "0007"]).to_owned(),
                pick(random, &["", "HR4 9AR"]).to_owned(),
                pick(random, &["", "a;b"]).to_owned(),
            ]);
            values.push((format!("2026-{month:02}-{day:02}T00:00:00.000Z"), tonnes));
        }
        Self { rows, values, fields, date_order, decimal, delimiter: pick(random, &[",", ";", "\t"]) }
    }

    fn form(&self, rows: &[[String; COLUMNS.len()]], is_workbook: bool) -> Form {
        let mut all: Vec<Vec<&str>> = vec![COLUMNS.to_vec()];
        all.extend(rows.iter().map(|row| row.iter().map(String::as_str).collect()));
        let file = if is_workbook {
            workbook(&all.iter().map(Vec::as_slice).collect::<Vec<_>>())
        } else {
            let line = |row: &Vec<&str>| {
                let cells: Vec<_> = row.iter().map(|cell| format!("\"{cell}\"")).collect();
                cells.join(self.delimiter) + "\r\n"
            };
            all.iter().map(line).collect::<String>().into_bytes()
        };
        let form = form(&[&file]).text("repeat", "true");
        self.fields.iter().fold(form, |form, (name, value)| form.text(*name, value.clone()))
    }
}

/// Misspells a name: leaves out, doubles or replaces a letter.
fn misspell(random: &mut StdRng, name: &str) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    let at = random.random_range(0..letters.len());
    match random.random_range(0..3) {
        0 => drop(letters.remove(at)),
        1 => letters.insert(at, letters[at]),
        _ => letters[at] = 'q',
    }
    letters.into_iter().collect()
}

/// Spoils a cell.
fn spoil(random: &mut StdRng, column: usize, cell: &str) -> String {
    match COLUMNS[column] {
        "reference" => pick(random, &["", "#N/A", "1.5E+14", "a\u{202e}b"]).to_owned(),
        "deliveryDateISO" => pick(random, &["", "soon", "31/31/2026", "2026-02-30", "#REF!"]).to_owned(),
        "commodityName" => misspell(random, cell),
        "weight" | "weightNet" => pick(random, &["12x", "5000", "-1", "1 2", "#####"]).to_owned(),
        "weightUnit" => pick(random, &["kg", "t"]).to_owned(),
        "ticketNumber" => "9".repeat(300),
        "pickupPostcode" => "x".repeat(200),
        _ => "b".repeat(500),
    }
}

testkit::on_both! {
    async fn corrections_of_the_first_response_mend_any_sheet(backend) {
        let app = app(backend).await;
        let grain = User::of("grain");
        let mut random = StdRng::seed_from_u64(5);
        let known = app.get("/v1/commodities").by(&grain).send().await.ok();
        let known: Vec<_> = known.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
        let mut suggested = 0;
        for number in 0..SHEETS {
            let mut sheet = Sheet::new(&mut random, number, &known);
            let mut rows = sheet.rows.clone();
            for row in &mut rows {
                for (column, cell) in row.iter_mut().enumerate() {
                    if random.random_bool(0.1) {
                        *cell = spoil(&mut random, column, cell);
                    }
                }
            }
            let is_workbook = random.random_bool(0.3);
            let first = send(&app, &grain, sheet.form(&rows, is_workbook)).await;
            let mut corrections = Vec::new();
            if first.status == 400 {
                let mut cells = BTreeSet::new();
                for entry in first.json()["validation"].as_array().unwrap() {
                    let (path, data) = (entry["path"].as_str().unwrap(), &entry["data"]);
                    let Some((row, column)) = path.strip_prefix("rows[").and_then(|path| path.split_once("].")) else {
                        // An option that the sheet leaves open.
                        let right = if path == "dateOrder" { sheet.date_order } else { sheet.decimal };
                        assert!(data["allowed"].as_array().unwrap().contains(&json!(right)), "{entry}");
                        sheet.fields.retain(|(name, _)| *name != path);
                        sheet.fields.push((if path == "dateOrder" { "dateOrder" } else { "decimal" }, right.to_owned()));
                        continue;
                    };
                    let (row, column): (usize, _) = (row.parse().unwrap(), column.split('[').next().unwrap());
                    if !cells.insert((row, column.to_owned())) {
                        continue;
                    }
                    // ISO dates are accepted in every order.
                    let own = match column {
                        "deliveryDateISO" => &sheet.values[row].0[..10],
                        _ => &sheet.rows[row][COLUMNS.iter().position(|name| *name == column).unwrap()],
                    };
                    let suggestion = data["suggestions"].get(0).or(data["allowed"].get(0)).and_then(Value::as_str);
                    suggested += usize::from(suggestion.is_some());
                    corrections.push(json!({"row": row, "column": column, "value": suggestion.unwrap_or(own)}));
                }
            }
            let form = sheet.form(&rows, is_workbook).text("corrections", json!(corrections).to_string());
            let answer = if first.status == 400 { send(&app, &grain, form).await } else { first };
            let answer = answer.ok();
            assert_eq!(answer["count"], sheet.rows.len(), "{number}");
            let created = loads(&app, &grain, &answer).await;
            for ((load, row), (date, tonnes)) in created.iter().zip(&sheet.rows).zip(&sheet.values) {
                assert_eq!((&load["reference"], &load["deliveryDateISO"]), (&json!(row[0]), &json!(date)), "{number}");
                assert_eq!(load["weight"]["weight"].as_f64(), Some(*tonnes), "{number}");
            }
        }
        assert!(suggested > SHEETS / 2, "{suggested} suggestions");
    }
}
