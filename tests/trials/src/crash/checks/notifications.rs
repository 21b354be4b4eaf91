//! Notifications of sent loads: each acknowledged send has one, and the carrier is stored with its notification.

use anyhow::Result;
use serde_json::Value;

use super::loads::StoredLoads;
use crate::crash::client::{Caller, Client, LOGISTICS, is_repeated, settle as settle_write};
use crate::crash::findings::{Findings, WriteKind};
use crate::crash::records::{LoadRecord, Records, SendRecord};
use crate::ledger::Ledger;

/// Checks the notifications of the acknowledged loads of a round.
pub fn check_reads(
    client: &Client<'_>,
    records: &Records,
    stored: &StoredLoads,
    ledger: &mut Ledger,
) -> Result<()> {
    records.loads.iter().try_for_each(|load| check(client, load, stored, ledger))
}

fn check(client: &Client<'_>, load: &LoadRecord, stored: &StoredLoads, ledger: &mut Ledger) -> Result<()> {
    let (Some(id), false) = (load.create.id(), load.sends.is_empty()) else { return Ok(()) };
    let reference = &load.fixture.reference;
    let notifications = read(client, id)?;
    let mut expected = 0;
    for send in &load.sends {
        let own: Vec<_> = notifications.iter().filter(|notification| is_of(send, notification)).collect();
        expected += own.len();
        let recipient = &send.recipient;
        ledger.check_count(&send.write.state, own.len(), &format!("notification of {recipient}"));
        if send.to_carrier {
            let row = load.fixture.export_row(true, None, &load.files);
            let has_carrier = stored.get(reference).is_some_and(|load| load.columns == row);
            ledger.check_content(has_carrier == (own.len() == 1), || {
                format!("load {reference} has either its carrier or the notification")
            });
        }
        if let (Some(id), [notification]) = (send.write.id(), &own[..]) {
            ledger.check_content(notification["id"] == id, || {
                format!("the notification of {recipient} has another id")
            });
        }
    }
    ledger.check_content(notifications.len() == expected, || {
        format!("load {reference} has further notifications")
    });
    Ok(())
}

/// Settles the unknown outcomes of the sends of a round. The loads must be settled before.
pub fn settle(client: &Client<'_>, records: &mut Records, findings: &mut Findings) -> Result<()> {
    records.loads.iter_mut().try_for_each(|load| settle_sends(client, load, findings))
}

fn settle_sends(client: &Client<'_>, load: &mut LoadRecord, findings: &mut Findings) -> Result<()> {
    let (Some(id), false) = (load.create.id(), load.sends.is_empty()) else { return Ok(()) };
    let notifications = read(client, id)?;
    for send in &mut load.sends {
        let stored = notifications.iter().find(|notification| is_of(send, notification));
        let stored = stored.and_then(|notification| notification["id"].as_str());
        findings.count(WriteKind::Other, &send.write.state, stored.is_some());
        let (request, state) = (send.request(id), &send.write.state);
        let is_repeated = is_repeated(&load.fixture.reference);
        (send.write.state, _) =
            settle_write(client, &request, state, stored, is_repeated, &mut findings.ledger)?;
    }
    Ok(())
}

fn read(client: &Client<'_>, load: &str) -> Result<Vec<Value>> {
    client.array(LOGISTICS, &format!("/v1/loads/{load}/notifications"), Caller::Owner)
}

fn is_of(send: &SendRecord, notification: &Value) -> bool {
    notification["recipientId"] == send.recipient.as_str()
}
