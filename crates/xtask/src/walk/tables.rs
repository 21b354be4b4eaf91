//! Steps with spreadsheets: many loads at once, and the completed ones to take away.

use anyhow::{Result, ensure};

use super::people::{People, Person};
use super::{Walk, check, date, show};
use crate::client::{Answer, Body};
use crate::multipart::Form;

/// A batch goes in once, mistakes are named by their cell, and completed loads come out.
pub fn run(walk: &mut Walk, people: &People) -> Result<()> {
    let merchant = &people.merchant;
    let row = |n| format!("BG-{}-{n};{};Milling Wheat;28;harvest\n", walk.stamp, date::tomorrow());
    let rows: String = (1..=3).map(row).collect();
    let table = format!("Reference;deliveryDateISO;commodityName;weight;tags\n{rows}");

    walk.step("The merchant sends a spreadsheet of loads");
    let made = batch(walk, merchant, table.clone(), 200)?;
    check::equal(&made, "/status", "success")?;
    check::equal(&made, "/count", 3)?;
    let url = format!("{}/v1/loads/{}", walk.logistics, check::text(&made, "/ids/0")?);
    let load = walk.get(Some(merchant), &url, 200)?;
    check::equal(&load, "/organiser/id", merchant.org)?;
    check::equal(&load, "/commodity/name", "Milling Wheat")?;

    walk.step("Whoever is unsure whether it went through sends it again");
    let refused = batch(walk, merchant, table.clone(), 409)?;
    check::error(&refused, "conflict")?;
    check::text(&refused, "/body/importedAtUTC")?;

    walk.step("One bad cell: its line is named, and nothing is stored");
    let refused = batch(walk, merchant, table.replace("-3;", "-4;").replace(";28;", ";heavy;"), 400)?;
    check::error(&refused, "validation_failed")?;
    check::equal(&refused, "/validation/0/path", "rows[0].weight")?;
    check::equal(&refused, "/validation/0/data/line", 2)?;

    walk.step("The completed loads as a spreadsheet");
    let csv = walk.get(Some(merchant), &format!("{}/v1/loads/completed", walk.logistics), 200)?;
    let text = String::from_utf8_lossy(&csv.bytes);
    ensure!(text.starts_with("id,reference,status,"), "the export should begin with the header row");
    ensure!(text.contains("WB-20418"), "the export should contain the ticket WB-20418");
    show::passed("the export contains the ticket WB-20418");
    Ok(())
}

fn batch(walk: &mut Walk, who: &Person, table: String, status: u16) -> Result<Answer> {
    let form = Form {
        fields: vec![("organisationId", who.org.into()), ("organisationName", who.org_name.into())],
        file_name: "loads.csv",
        media_type: "text/csv",
        content: table.into_bytes().into(),
    };
    let url = format!("{}/v1/loads/batch", walk.logistics);
    walk.call(Some(who), "POST", &url, &Body::Form(form), status)
}
