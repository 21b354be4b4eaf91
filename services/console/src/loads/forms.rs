//! The form of each action: its fields, what they contain at first, and the body that they make.

use serde_json::{Map, Value, json};

use super::actions::{Action, editable};
use super::filters::LIST;
use crate::api::FieldError;
use crate::api::model::{Load, Quality};
use crate::fields::{self, Fields, field, required};
use crate::format::{Clock, NumberError, parse_number, typed_number, typed_tonnes};
use crate::session::Person;

/// Measures of quality: the name in the API, and what people read.
pub(crate) const MEASURES: [(&str, &str); 9] = [
    ("moisture", "Moisture, %"),
    ("specificWeight", "Specific weight, kg/hl"),
    ("protein", "Protein, %"),
    ("hagberg", "Hagberg, s"),
    ("screenings", "Screenings, %"),
    ("admixture", "Admixture, %"),
    ("oil", "Oil, %"),
    ("nitrogen", "Nitrogen, %"),
    ("temperature", "Temperature, °C"),
];

/// The field of a stored file: its id, a space and its name.
pub(crate) const FILES: &str = "files";
/// The field of a file that was refused: why.
pub(crate) const FILE_ERROR: &str = "file-error";
/// The text fields of forms with files.
pub(crate) const TEXTS: [&str; 21] = [
    "form-token",
    "key",
    "revision",
    LIST,
    FILES,
    "weightGross",
    "weightTare",
    "weightNet",
    "ticketNumber",
    "vehicleRegistration",
    "reason",
    "note",
    "quality.moisture",
    "quality.specificWeight",
    "quality.protein",
    "quality.hagberg",
    "quality.screenings",
    "quality.admixture",
    "quality.oil",
    "quality.nitrogen",
    "quality.temperature",
];

/// Reasons of a rejection.
pub(crate) const REJECTIONS: [(&str, &str); 7] = [
    ("quality", "Quality"),
    ("contamination", "Contamination"),
    ("pests", "Pests"),
    ("documents", "Documents"),
    ("weight", "Weight"),
    ("late", "Too late"),
    ("other", "Something else"),
];

/// A field of a form of loads.
pub(crate) type Field = fields::Field<Kind>;

/// What a field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    LongText,
    /// A weight in tonnes.
    Tonnes,
    Date,
    Commodity,
    /// The name or the id of an organisation, which the page suggests.
    Organisation,
    /// The name or the id of a driver, which the page suggests.
    Driver,
    /// Texts separated by commas.
    Tags,
    /// One of these values.
    Choice(&'static [(&'static str, &'static str)]),
}

/// The zone of times in forms, unless [`Form::in_zone`] sets another.
const LONDON: Clock = Clock { zone: chrono_tz::Europe::London };

const EDIT: [Field; 12] = [
    required("reference", "Reference", Kind::Text),
    required("deliveryDateISO", "Delivery, with a time if there is one", Kind::Date),
    required("commodityId", "Commodity", Kind::Commodity),
    field("weight", "Planned, t", Kind::Tonnes),
    field("weightNet", "Net, t", Kind::Tonnes),
    field("pickupPostcode", "From, postcode", Kind::Text),
    field("dropoffPostcode", "To, postcode", Kind::Text),
    field("carrierId", "Haulier", Kind::Organisation),
    field("carrierName", "Name of the haulier", Kind::Text),
    field("vehicleRegistration", "Vehicle", Kind::Text),
    field("ticketNumber", "Ticket", Kind::Text),
    field("tags", "Tags, separated by commas", Kind::Tags),
];
/// The field of the dates of new loads, one in each line.
pub(crate) const DATES: &str = "dates";
const NEW: [Field; 10] = [
    required("reference", "Reference", Kind::Text),
    required(DATES, "Delivery dates, one in each line", Kind::LongText),
    required("commodityId", "Commodity", Kind::Commodity),
    required("weight", "Planned, t", Kind::Tonnes),
    field("pickupPostcode", "From, postcode", Kind::Text),
    field("dropoffPostcode", "To, postcode", Kind::Text),
    field("carrierId", "Haulier", Kind::Organisation),
    field("carrierName", "Name of the haulier", Kind::Text),
    field("vehicleRegistration", "Vehicle", Kind::Text),
    field("tags", "Tags, separated by commas", Kind::Tags),
];
/// What replaces the haulier if the own organisation carries the load.
const FOR_ANOTHER: [Field; 2] = [
    field("organisationId", "For whom", Kind::Organisation),
    field("organisationName", "Name of whom it is for", Kind::Text),
];
const WEIGHED: [Field; 5] = [
    field("weightGross", "Gross, t", Kind::Tonnes),
    field("weightTare", "Tare, t", Kind::Tonnes),
    field("weightNet", "Net, t", Kind::Tonnes),
    field("ticketNumber", "Ticket", Kind::Text),
    field("vehicleRegistration", "Vehicle", Kind::Text),
];

/// The form of an action.
pub(crate) struct Form {
    action: Action,
    /// Reads times of deliveries.
    clock: Clock,
    pub(crate) fields: Vec<Field>,
    /// Whether it also takes [`MEASURES`], as fields `quality.MEASURE`.
    pub(crate) has_quality: bool,
    /// Whether it takes files, such as the picture of a ticket.
    pub(crate) has_files: bool,
}

impl Form {
    /// Returns the form of an edit that was made with these fields: the load may allow fewer by now, which the service
    /// says.
    pub(crate) fn of_edit(typed: &Fields) -> Self {
        let is_in_form = |field: &Field| typed.find(&format!("was.{}", field.name)).is_some();
        let fields = EDIT.into_iter().filter(is_in_form).collect();
        Self { action: Action::Edit, clock: LONDON, fields, has_quality: false, has_files: false }
    }

    /// Returns the form of new loads, which the own organisation orders or carries.
    pub(crate) fn of_new(carries: bool, clock: Clock) -> Self {
        let of_another = FOR_ANOTHER.iter().filter(|_| carries);
        let is_usual = |field: &&Field| !(carries && field.name.starts_with("carrier"));
        let fields = NEW.iter().filter(is_usual).chain(of_another).copied().collect();
        // Nothing that is special to an action applies to it.
        Self { action: Action::Accept, clock, fields, has_quality: false, has_files: false }
    }

    /// Returns the form with times of deliveries in the zone of a clock.
    pub(crate) fn in_zone(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Returns true if the fields begin with what the load has, so that only what differs is sent.
    pub(crate) fn sends_changes(&self) -> bool {
        matches!(self.action, Action::Edit | Action::Correct)
    }

    /// Returns the form of an action on a load.
    pub(crate) fn new(action: Action, load: &Load, person: &Person) -> Self {
        let reason = |label| required("reason", label, Kind::LongText);
        let fields = match action {
            Action::Edit => {
                let names = editable(load, person);
                EDIT.into_iter().filter(|field| names.contains(&field.name)).collect()
            }
            Action::Collect => WEIGHED.to_vec(),
            Action::Prove => {
                let is_required = |field: Field| field.name != "weightGross" && field.name != "weightTare";
                WEIGHED.map(|field| Field { is_required: is_required(field), ..field }).to_vec()
            }
            Action::Correct => [&WEIGHED[..], &[reason("Why")]].concat(),
            Action::Reject => vec![
                required("reason", "Why", Kind::Choice(&REJECTIONS)),
                field("note", "In words", Kind::LongText),
            ],
            Action::Cancel => vec![field("reason", "Why", Kind::LongText)],
            Action::Reopen => vec![reason("Why")],
            Action::Accept | Action::AddFiles => Vec::new(),
            Action::SendToCarrier => {
                vec![
                    required("carrierId", "Haulier", Kind::Organisation),
                    field("carrierName", "Name of the haulier", Kind::Text),
                ]
            }
            Action::SendToDriver => vec![required("driverId", "Driver", Kind::Driver)],
            Action::Note => vec![required("text", "Note", Kind::LongText)],
        };
        let has_quality =
            matches!(action, Action::Collect | Action::Prove | Action::Correct | Action::Reject);
        let has_files = matches!(action, Action::Collect | Action::Prove | Action::Reject | Action::AddFiles);
        Self { action, clock: LONDON, fields, has_quality, has_files }
    }

    /// Returns what the fields contain at first.
    pub(crate) fn initial(&self, load: &Load, clock: Clock) -> Fields {
        let mut initial: Vec<_> = self
            .fields
            .iter()
            .map(|field| (field.name.to_owned(), self.value(field.name, load, clock)))
            .collect();
        if self.action == Action::Correct {
            let measured = load.quality.iter();
            initial.extend(
                measured.map(|Quality { measure, value, .. }| {
                    (format!("quality.{measure}"), typed_number(*value))
                }),
            );
        }
        Fields(initial)
    }

    fn value(&self, name: &str, load: &Load, clock: Clock) -> String {
        let text = |text: Option<&String>| text.cloned().unwrap_or_default();
        // A proof begins with what was collected, but not with its weights: they are weighed again.
        let collection = load.collection.as_ref();
        let keeps_weights = matches!(self.action, Action::Edit | Action::Correct);
        match name {
            "reference" => load.reference.clone(),
            "deliveryDateISO" => clock.typed_delivery(&load.delivery),
            "commodityId" => load.commodity.id.to_string(),
            "weight" => typed_tonnes(load.weight),
            "weightNet" if keeps_weights => typed_tonnes(load.weight_net),
            "weightGross" if keeps_weights => typed_tonnes(load.weight_gross),
            "weightTare" if keeps_weights => typed_tonnes(load.weight_tare),
            "pickupPostcode" => text(load.pickup_postcode.as_ref()),
            "dropoffPostcode" => text(load.dropoff_postcode.as_ref()),
            "carrierId" => text(load.carrier.as_ref().and_then(|carrier| carrier.id.as_ref())),
            "carrierName" => text(load.carrier.as_ref().map(|carrier| &carrier.name)),
            "vehicleRegistration" => text(
                load.vehicle_registration
                    .as_ref()
                    .or_else(|| collection.and_then(|collection| collection.vehicle_registration.as_ref())),
            ),
            "ticketNumber" if keeps_weights => text(load.ticket_number.as_ref()),
            "tags" => load.tags.join(", "),
            _ => String::new(),
        }
    }

    /// Returns the fields that name organisations and drivers.
    pub(crate) fn named(&self) -> Vec<(&'static str, Kind)> {
        let is_named = |field: &&Field| matches!(field.kind, Kind::Organisation | Kind::Driver);
        self.fields.iter().filter(is_named).map(|field| (field.name, field.kind)).collect()
    }

    /// Returns the names of the fields.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.fields.iter().map(|field| field.name).collect()
    }

    /// Returns the names of the fields, with those of the measures of quality.
    pub(crate) fn all_names(&self) -> Vec<&'static str> {
        let measures = TEXTS.into_iter().filter(|name| self.has_quality && name.starts_with("quality."));
        self.names().into_iter().chain(measures).collect()
    }

    /// Makes the members of the body of these fields. Empty ones are left out, or `null` in an edit.
    ///
    /// # Errors
    /// The fields whose text cannot be sent: a number that is none.
    pub(crate) fn body(&self, typed: &Fields, names: &[&str]) -> Result<Value, Vec<FieldError>> {
        let (mut body, mut errors) = (Map::new(), Vec::new());
        for field in self.fields.iter().filter(|field| names.contains(&field.name)) {
            let text = typed.get(field.name);
            let value = match field.kind {
                Kind::Tags => Some(json!(tags(text))),
                _ if text.is_empty() && self.action == Action::Edit => Some(Value::Null),
                _ if text.is_empty() => None,
                Kind::Tonnes => number(field.name, text, &mut errors),
                Kind::Date => date(self.clock, field.name, text, &mut errors),
                Kind::Commodity => commodity(field.name, text, &mut errors),
                _ => Some(json!(text)),
            };
            body.extend(value.map(|value| (field.name.to_owned(), value)));
        }
        if self.has_quality {
            let quality = quality(typed, &mut errors);
            let is_given =
                if self.action == Action::Correct { has_changed_quality(typed) } else { !quality.is_empty() };
            if is_given {
                body.insert("quality".to_owned(), json!(quality));
            }
        }
        if self.action == Action::Correct {
            let emptied = self
                .fields
                .iter()
                .filter(|field| names.contains(&field.name) && typed.get(field.name).is_empty());
            errors.extend(emptied.map(|field| FieldError {
                path: field.name.to_owned(),
                message: "cannot be emptied by a correction: reopen the load and prove it again".to_owned(),
            }));
        }
        let names_no_haulier = typed.get("carrierId").is_empty() && !typed.get("carrierName").is_empty();
        if names.contains(&"carrierName") && names_no_haulier {
            let message = "is needed with the name of a haulier".to_owned();
            errors.push(FieldError { path: "carrierId".to_owned(), message });
        }
        if self.has_files {
            let refused = typed.all(FILE_ERROR).into_iter();
            errors.extend(
                refused.map(|error| FieldError { path: FILES.to_owned(), message: error.to_owned() }),
            );
            let files = typed.all(FILES).into_iter().map(|file| file.split(' ').next().unwrap_or(file));
            let files: Vec<_> = files.map(|id| json!({"id": id})).collect();
            if self.action == Action::AddFiles && files.is_empty() && errors.is_empty() {
                let message = "are missing: choose at least one".to_owned();
                errors.push(FieldError { path: FILES.to_owned(), message });
            }
            if self.action == Action::Prove || !files.is_empty() {
                body.insert("files".to_owned(), json!(files));
            }
        }
        if errors.is_empty() { Ok(Value::Object(body)) } else { Err(errors) }
    }

    /// Returns the errors of a service under the names of the fields, and those that belong to no field.
    pub(crate) fn place(&self, typed: &Fields, errors: &[FieldError]) -> (Vec<FieldError>, Vec<FieldError>) {
        let measured: Vec<_> = MEASURES
            .iter()
            .map(|(measure, _)| format!("quality.{measure}"))
            .filter(|name| !typed.get(name).is_empty())
            .collect();
        let place = |error: &FieldError| {
            let index =
                error.path.strip_prefix("quality[").and_then(|rest| rest.split(']').next()?.parse().ok());
            let path = index.and_then(|index: usize| measured.get(index).cloned());
            let path = path.unwrap_or_else(|| match error.path.split('[').next() {
                Some(FILES) => FILES.to_owned(),
                _ => error.path.clone(),
            });
            FieldError { path, ..error.clone() }
        };
        let is_of_field = |error: &FieldError| {
            error.path.starts_with("quality.")
                || self.has_files && error.path.starts_with(FILES)
                || self.fields.iter().any(|field| field.name == error.path)
        };
        errors.iter().map(place).partition(is_of_field)
    }
}

/// Returns the name of the field that confirms that the text of another one is an id, though no address book has it.
pub(crate) fn sure(name: &str) -> String {
    format!("sure.{name}")
}

fn tags(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).filter(|tag| !tag.is_empty()).collect()
}

fn number(name: &str, text: &str, errors: &mut Vec<FieldError>) -> Option<Value> {
    match parse_number(text) {
        Ok(number) => Some(json!(number)),
        Err(error) => {
            let message = match error {
                NumberError::Ambiguous => {
                    let [thousand, decimal] = ["", "."].map(|mark| text.replace(',', mark));
                    format!("could be {thousand} or {decimal}: write the one that you mean")
                }
                NumberError::Invalid => error.message().to_owned(),
            };
            errors.push(FieldError { path: name.to_owned(), message });
            None
        }
    }
}

fn commodity(name: &str, text: &str, errors: &mut Vec<FieldError>) -> Option<Value> {
    let id = text.parse::<i64>().ok();
    if id.is_none() {
        errors
            .push(FieldError { path: name.to_owned(), message: "is not a commodity of the list".to_owned() });
    }
    id.map(|id| json!(id))
}

/// Returns true if a measure differs from what it was when the form was made.
fn has_changed_quality(typed: &Fields) -> bool {
    let is_changed = |name: String| typed.get(&name) != typed.get(&format!("was.{name}"));
    MEASURES.iter().any(|(measure, _)| is_changed(format!("quality.{measure}")))
}

fn date(clock: Clock, name: &str, text: &str, errors: &mut Vec<FieldError>) -> Option<Value> {
    let delivery = clock.parse_delivery(text);
    if delivery.is_none() {
        let message =
            "is not a date: write it as 10 Dec 2026, or with a time as 10 Dec 2026 14:30".to_owned();
        errors.push(FieldError { path: name.to_owned(), message });
    }
    delivery.map(|delivery| json!(delivery))
}

fn quality(typed: &Fields, errors: &mut Vec<FieldError>) -> Vec<Value> {
    let mut values = Vec::new();
    for (measure, _) in MEASURES {
        let name = format!("quality.{measure}");
        let text = typed.get(&name);
        // Temperatures may be below zero.
        let (sign, digits) =
            text.strip_prefix(['-', '\u{2212}']).map_or((1.0, text), |digits| (-1.0, digits));
        if !digits.is_empty()
            && let Some(value) = number(&name, digits, errors)
        {
            values.push(json!({"measure": measure, "value": value.as_f64().unwrap_or_default() * sign}));
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::super::actions::tests::{load, person};
    use super::*;

    fn typed(pairs: &[(&str, &str)]) -> Fields {
        Fields(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    fn form(action: Action) -> Form {
        Form::new(action, &load("upcoming", "grain"), &person("grain"))
    }

    #[test]
    fn an_edit_sends_what_changed_and_null_for_what_is_emptied() {
        let edit = form(Action::Edit);
        let typed =
            typed(&[("reference", "A-1"), ("weight", "29,5"), ("ticketNumber", " "), ("tags", "a, ,b ")]);
        let body = edit.body(&typed, &["weight", "ticketNumber", "tags"]).unwrap();
        assert_eq!(body, json!({"weight": 29.5, "ticketNumber": null, "tags": ["a", "b"]}));
    }

    #[test]
    fn a_proof_has_quality_and_errors_at_its_fields() {
        let prove = form(Action::Prove);
        let fields = typed(&[
            ("weightNet", "27.10"),
            ("ticketNumber", "T-1"),
            ("vehicleRegistration", ""),
            ("quality.moisture", "14,1"),
            ("quality.temperature", "-3"),
        ]);
        let body = prove.body(&fields, &prove.names()).unwrap();
        let quality =
            json!([{"measure": "moisture", "value": 14.1}, {"measure": "temperature", "value": -3.0}]);
        assert_eq!(body, json!({"weightNet": 27.1, "ticketNumber": "T-1", "quality": quality, "files": []}));
        let error = |path: &str| FieldError { path: path.to_owned(), message: "must be".to_owned() };
        let (placed, others) =
            prove.place(&fields, &[error("quality[1].value"), error("files[0].id"), error("capturedAtUTC")]);
        let paths = |errors: &[FieldError]| errors.iter().map(|error| error.path.clone()).collect::<Vec<_>>();
        assert_eq!(paths(&placed), ["quality.temperature", "files"]);
        assert_eq!(paths(&others), ["capturedAtUTC"]);
        let wrong = typed(&[("weightNet", "1,234"), ("quality.oil", "much")]);
        let errors = prove.body(&wrong, &prove.names()).unwrap_err();
        assert_eq!(paths(&errors), ["weightNet", "quality.oil"]);
    }

    #[test]
    fn stored_files_are_sent_and_refused_ones_are_errors() {
        let collect = form(Action::Collect);
        let files = typed(&[("files", "id-1 a b.jpg"), ("files", "id-2")]);
        assert_eq!(collect.body(&files, &[]).unwrap(), json!({"files": [{"id": "id-1"}, {"id": "id-2"}]}));
        let errors = collect.body(&typed(&[("file-error", "is empty")]), &[]).unwrap_err();
        assert_eq!((errors[0].path.as_str(), errors[0].message.as_str()), ("files", "is empty"));
        for action in [Action::Collect, Action::Prove, Action::Reject] {
            assert!(form(action).names().iter().all(|name| TEXTS.contains(name)), "{action:?}");
        }
        assert!(MEASURES.iter().all(|(measure, _)| TEXTS.contains(&format!("quality.{measure}").as_str())));
    }

    #[test]
    fn fields_begin_with_the_load() {
        let mut load = load("upcoming", "grain");
        load.delivery = "2020-08-03T00:00:00.000Z".to_owned();
        load.tags = vec!["a".to_owned(), "b".to_owned()];
        let edit = Form::new(Action::Edit, &load, &person("grain"));
        let clock = Clock { zone: chrono_tz::America::New_York };
        let initial = edit.initial(&load, clock);
        assert_eq!((initial.get("deliveryDateISO"), initial.get("tags")), ("Mon 3 Aug 2020", "a, b"));
        assert_eq!((initial.get("carrierId"), initial.get("weight")), ("haul", ""));
        assert!(edit.fields.iter().all(|field| field.name != "weightNet"));
    }
}
