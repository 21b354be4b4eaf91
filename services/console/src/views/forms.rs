//! Forms of actions: fields with their errors, and the choice between two edits.

use maud::{Markup, html};

use super::layout::form_token;
use crate::api::FieldError;
use crate::api::model::Named;
use crate::fields::Fields;
use crate::loads::{Conflict, FILES, Field, Form, Kind, LIST, MEASURES, sure};
use crate::user::User;

/// What a form suggests: ids and names.
#[derive(Debug, Default)]
pub(crate) struct Suggestions {
    pub(crate) commodities: Vec<Named>,
    /// Ids and names of organisations.
    pub(crate) organisations: Vec<(String, String)>,
    /// Ids and names of drivers.
    pub(crate) drivers: Vec<(String, String)>,
}

/// A form as it is shown: at first, or again with what is wrong.
pub(crate) struct FormView<'a> {
    pub(crate) user: &'a User,
    pub(crate) action: &'a str,
    /// The query of the list from which one came.
    pub(crate) list: &'a str,
    pub(crate) submit: &'a str,
    pub(crate) back: &'a str,
    pub(crate) form: &'a Form,
    pub(crate) typed: &'a Fields,
    /// What the fields were when the load was read, if only changes are sent.
    pub(crate) was: Option<&'a Fields>,
    pub(crate) revision: &'a str,
    pub(crate) key: &'a str,
    pub(crate) suggestions: &'a Suggestions,
    pub(crate) errors: &'a [FieldError],
    pub(crate) conflicts: &'a [Conflict],
}

impl FormView<'_> {
    /// Returns the form.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            form.fields.card.pad method="post" action=(self.action)
                enctype=[self.form.has_files.then_some("multipart/form-data")] {
                (form_token(self.user))
                input type="hidden" name="key" value=(self.key);
                input type="hidden" name="revision" value=(self.revision);
                @if !self.list.is_empty() { input type="hidden" name=(LIST) value=(self.list); }
                @if let Some(was) = self.was {
                    @for (name, value) in &was.0 { input type="hidden" name={ "was." (name) } value=(value); }
                }
                @for field in &self.form.fields { (self.field(field)) }
                @if self.form.has_quality { (self.quality()) }
                @if self.form.has_files { (self.files()) }
                (self.lists())
                div.actions {
                    button.primary { (self.submit) }
                    a.btn href=(self.back) { "Back" }
                }
            }
        }
    }

    fn field(&self, field: &Field) -> Markup {
        let value = self.typed.get(field.name);
        let error = self.errors.iter().find(|error| error.path == field.name);
        let conflict = self.conflicts.iter().find(|conflict| conflict.name == field.name);
        let described = error.map(|_| format!("error-{}", field.name));
        let is_first = self.is_first(field.name);
        html! {
            div.field.wrong[error.is_some()].long[field.kind == Kind::LongText] {
                (label(field.name, field.label, field.is_required))
                (self.input(field, value, described.as_deref(), is_first))
                (error_line(field.name, error))
                (as_id(field.name, value, error))
                @if let Some(conflict) = conflict { (choice(value, conflict)) }
            }
        }
    }

    fn is_first(&self, name: &str) -> bool {
        self.errors.first().is_some_and(|first| first.path == name)
    }

    fn input(&self, field: &Field, value: &str, described: Option<&str>, is_first: bool) -> Markup {
        let id = format!("f-{}", field.name);
        let list = match field.kind {
            Kind::Organisation => Some("organisations"),
            Kind::Driver => Some("drivers"),
            _ => None,
        };
        match field.kind {
            Kind::LongText => html! {
                textarea id=(id) name=(field.name) rows="3" aria-describedby=[described] autofocus[is_first]
                    required[field.is_required] { (value) }
            },
            Kind::Choice(choices) => html! {
                select id=(id) name=(field.name) aria-describedby=[described] autofocus[is_first]
                    required[field.is_required] {
                    option value="" { "Choose" }
                    @for (name, label) in choices { option value=(name) selected[*name == value] { (label) } }
                }
            },
            Kind::Commodity if !self.suggestions.commodities.is_empty() => html! {
                select id=(id) name=(field.name) aria-describedby=[described] autofocus[is_first] {
                    @for Named { id, name } in &self.suggestions.commodities {
                        option value=(id) selected[id.to_string() == value] { (name) }
                    }
                }
            },
            // Numbers without `inputmode=decimal`: the keypads of some phones have no point for it.
            _ => html! {
                input.num[field.kind == Kind::Tonnes] id=(id) name=(field.name) type="text" value=(value) list=[list]
                    aria-describedby=[described] autofocus[is_first] required[field.is_required] autocomplete="off";
            },
        }
    }

    fn quality(&self) -> Markup {
        let value = |measure: &str| self.typed.get(&format!("quality.{measure}"));
        let has_any = MEASURES.iter().any(|(measure, _)| !value(measure).is_empty());
        // The focus cannot move to what is closed.
        let has_error = self.errors.iter().any(|error| error.path.starts_with("quality."));
        html! {
            details.quality open[has_any || has_error] {
                summary { "Quality" }
                @for (measure, label) in MEASURES {
                    @let name = format!("quality.{measure}");
                    @let error = self.errors.iter().find(|error| error.path == name);
                    @let conflict = self.conflicts.iter().find(|conflict| conflict.name == name);
                    div.field.wrong[error.is_some()] {
                        (self::label(&name, label, false))
                        input.num id={ "f-" (name) } name=(name) type="text" value=(value(measure)) autocomplete="off"
                            autofocus[self.is_first(&name)]
                            aria-describedby=[error.map(|_| format!("error-{name}"))];
                        (error_line(&name, error))
                        @if let Some(conflict) = conflict { (choice(value(measure), conflict)) }
                    }
                }
            }
        }
    }

    /// The fields of files come last: what precedes them in the form proves whose it is.
    fn files(&self) -> Markup {
        let error = self.errors.iter().find(|error| error.path == FILES);
        html! {
            div.field.long.wrong[error.is_some()] {
                @for file in self.typed.all(FILES) {
                    @let name = file.split_once(' ').map_or(file, |(_, name)| name);
                    label { input type="checkbox" name=(FILES) value=(file) checked; " " (name) " (stored)" }
                }
                label for="f-file" { "Picture of the ticket, or other files" }
                input #f-file type="file" name="file" multiple accept="image/*,application/pdf" autofocus[self.is_first(FILES)]
                    aria-describedby=[error.map(|_| "error-files")];
                (error_line(FILES, error))
            }
        }
    }

    fn lists(&self) -> Markup {
        let list = |id: &str, entries: &[(String, String)]| {
            html! {
                datalist id=(id) { @for (id, name) in entries { option value=(id) { (name) } } }
            }
        };
        html! {
            @if !self.suggestions.organisations.is_empty() {
                (list("organisations", &self.suggestions.organisations))
            }
            @if !self.suggestions.drivers.is_empty() { (list("drivers", &self.suggestions.drivers)) }
        }
    }
}

/// Asks which of two values of a field to keep.
fn choice(mine: &str, conflict: &Conflict) -> Markup {
    let shown = |text: &str| if text.is_empty() { "nothing".to_owned() } else { text.to_owned() };
    let name = format!("choice.{}", conflict.name);
    html! {
        fieldset {
            input type="hidden" name="conflict" value=(conflict.name);
            legend { "Somebody else changed it too" }
            label { input type="radio" name=(name) value="mine" required; " Keep mine: " b { (shown(mine)) } }
            label { input type="radio" name=(name) value="theirs"; " Take theirs: " b { (shown(&conflict.theirs)) } }
        }
    }
}

/// A text field with its label and what is wrong with it.
#[derive(Clone, Copy)]
pub(crate) struct TextField<'a> {
    pub(crate) name: &'a str,
    pub(crate) label: &'a str,
    pub(crate) value: &'a str,
    pub(crate) error: Option<&'a FieldError>,
    pub(crate) is_needed: bool,
    pub(crate) has_focus: bool,
    /// What browsers fill in by themselves.
    pub(crate) autocomplete: &'a str,
}

impl<'a> TextField<'a> {
    /// Returns a field of a form, which has the focus if the first error is its own.
    pub(crate) fn new(name: &'a str, label: &'a str, typed: &'a Fields, errors: &'a [FieldError]) -> Self {
        let has_focus = errors.first().is_some_and(|first| first.path == name);
        let error = errors.iter().find(|error| error.path == name);
        let value = typed.get(name);
        Self { name, label, value, error, is_needed: false, has_focus, autocomplete: "off" }
    }

    /// Returns it as one that has to be filled in.
    pub(crate) fn needed(self) -> Self {
        Self { is_needed: true, ..self }
    }

    /// Returns it with one line.
    pub(crate) fn line(self) -> Markup {
        self.with(&html! {
            input id=(self.id()) name=(self.name) value=(self.value) required[self.is_needed] autofocus[self.has_focus]
                autocomplete=(self.autocomplete) aria-describedby=[self.described()];
        })
    }

    /// Returns it with several lines.
    pub(crate) fn lines(self, rows: u8) -> Markup {
        self.with(&html! {
            textarea id=(self.id()) name=(self.name) rows=(rows) required[self.is_needed] autofocus[self.has_focus]
                aria-describedby=[self.described()] { (self.value) }
        })
    }

    fn with(self, input: &Markup) -> Markup {
        html! {
            div.field.long.wrong[self.error.is_some()] {
                (label(self.name, self.label, self.is_needed))
                (input)
                (error_line(self.name, self.error))
            }
        }
    }

    fn id(self) -> String {
        format!("f-{}", self.name)
    }

    fn described(self) -> Option<String> {
        self.error.map(|_| format!("error-{}", self.name))
    }
}

/// Returns the label of a field.
pub(super) fn label(name: &str, text: &str, is_needed: bool) -> Markup {
    html! { label for={ "f-" (name) } { (text) @if is_needed { " " span.muted { "(needed)" } } } }
}

/// Returns what is wrong with a field.
pub(super) fn error_line(name: &str, error: Option<&FieldError>) -> Markup {
    html! { @if let Some(error) = error { p.error id={ "error-" (name) } { (capital(&error.message)) } } }
}

/// Returns the errors that belong to none of these fields.
pub(crate) fn other_notices(errors: &[FieldError], fields: &[&str]) -> Markup {
    let is_other =
        |error: &&FieldError| !fields.iter().any(|field| error.path.split('[').next() == Some(field));
    notices(&errors.iter().filter(is_other).cloned().collect::<Vec<_>>())
}

/// Returns a needed field for an organisation or a driver, by name or id. `list`: the id of its suggestions.
pub(crate) fn who_field(
    text: &str,
    (name, list): (&str, &str),
    typed: &Fields,
    errors: &[FieldError],
) -> Markup {
    let error = errors.iter().find(|error| error.path == name);
    html! {
        div.field.wrong[error.is_some()] {
            (label(name, text, true))
            input id={ "f-" (name) } name=(name) list=(list) value=(typed.get(name)) required autocomplete="off"
                autofocus[error.is_some()] aria-describedby=[error.map(|_| format!("error-{name}"))];
            (error_line(name, error))
            (as_id(name, typed.get(name), error))
        }
    }
}

/// Offers to take the text of a field as an id, if it names nobody of the address book.
pub(super) fn as_id(name: &str, typed: &str, error: Option<&FieldError>) -> Markup {
    html! {
        @if error.is_some_and(FieldError::is_nobody) {
            label { input type="checkbox" name=(sure(name)) value=(typed); " “" (typed) "” is an id: use it all the same" }
        }
    }
}

/// Returns errors that belong to no field.
pub(crate) fn notices(errors: &[FieldError]) -> Markup {
    html! {
        @if !errors.is_empty() {
            div.notice.bad role="alert" {
                @for error in errors {
                    p { @if !error.path.is_empty() { b { (error.path) } " " } (capital(&error.message)) }
                }
            }
        }
    }
}

/// Returns a sentence from the message of an error, which lacks its subject: the label stands above.
pub(crate) fn capital(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}
