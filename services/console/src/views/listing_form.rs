//! The form of a listing: its fields, its pictures in their order, and the choice to publish.

use maud::{Markup, html};

use super::layout::{form_token, module};
use crate::api::market::Category;
use crate::api::{FieldError, segment};
use crate::fields::Fields;
use crate::loads::FILES;
use crate::market::{Field, Form, Kind, ancestors};
use crate::user::User;
use crate::views::forms::{capital, error_line, label, notices};

/// The form as it is shown: at first, or again with what is wrong.
pub(crate) struct ListingFormView<'a> {
    pub(crate) user: &'a User,
    pub(crate) form: &'a Form,
    pub(crate) action: &'a str,
    pub(crate) back: &'a str,
    pub(crate) typed: &'a Fields,
    /// What the fields were when the listing was read, encoded; empty for a new one.
    pub(crate) was: &'a str,
    pub(crate) revision: &'a str,
    pub(crate) key: &'a str,
    /// The parts of the category.
    pub(crate) parts: &'a [Category],
    pub(crate) breeds: &'a [String],
    pub(crate) errors: &'a [FieldError],
    pub(crate) others: &'a [FieldError],
    /// Whether the listing is not published yet, so that the form can publish it.
    pub(crate) is_draft: bool,
}

impl ListingFormView<'_> {
    /// Returns the form.
    pub(crate) fn markup(&self) -> Markup {
        let owner = self.user.person.form_owner();
        html! {
            (notices(self.others))
            form.fields.card.pad method="post" action=(self.action) enctype="multipart/form-data" data-keep=(owner)
                data-again[self.typed.find("key").is_some()] {
                (form_token(self.user))
                input type="hidden" name="key" value=(self.key);
                input type="hidden" name="revision" value=(self.revision);
                input type="hidden" name="was" value=(self.was);
                // The first button is the one that Enter presses.
                button.hidden name="then" value=(if self.is_draft { "draft" } else { "save" }) tabindex="-1" { "Save" }
                @for field in self.form.category.fields() { (self.field(field)) }
                (self.pictures())
                datalist #breeds { @for breed in self.breeds { option value=(breed) {} } }
                div.actions {
                    @if self.is_draft {
                        button.primary name="then" value="publish" { "Publish" }
                        button name="then" value="draft" { "Save as a draft" }
                    } @else {
                        button.primary name="then" value="save" { "Save" }
                    }
                    a.btn href=(self.back) { "Back" }
                }
                @if self.is_draft {
                    p.muted { "Only your organisation sees a draft." }
                }
            }
            (module("listing.js"))
        }
    }

    fn error(&self, name: &str) -> Option<&FieldError> {
        self.errors.iter().find(|error| error.path == name)
    }

    fn is_first(&self, name: &str) -> bool {
        self.errors.first().is_some_and(|first| first.path == name)
    }

    fn field(&self, field: &Field) -> Markup {
        let error = self.error(field.name);
        let described = error.map(|_| format!("error-{}", field.name));
        let is_first = self.is_first(field.name);
        let id = format!("f-{}", field.name);
        let is_group = matches!(field.kind, Kind::Several(_) | Kind::Joined(_) | Kind::Parts | Kind::Flag);
        html! {
            div.field.wrong[error.is_some()].long[field.kind == Kind::LongText || is_group] {
                @if is_group { (self.boxes(field, is_first)) }
                @else {
                    (label(field.name, field.label, field.is_required))
                    (self.input(field, &id, described.as_deref(), is_first))
                }
                (error_line(field.name, error))
            }
        }
    }

    fn input(&self, field: &Field, id: &str, described: Option<&str>, is_first: bool) -> Markup {
        let value = self.typed.get(field.name);
        match field.kind {
            Kind::LongText => html! {
                textarea id=(id) name=(field.name) rows="4" aria-describedby=[described] autofocus[is_first] { (value) }
            },
            Kind::Choice(choices) => html! {
                select id=(id) name=(field.name) aria-describedby=[described] autofocus[is_first] {
                    @if value.is_empty() { option value="" selected { "Choose" } }
                    @for (name, label) in choices { option value=(name) selected[*name == value] { (label) } }
                    // What another program has stored is kept.
                    @if !value.is_empty() && !choices.iter().any(|(name, _)| *name == value) {
                        option value=(value) selected { (value) }
                    }
                }
            },
            _ => html! {
                input.num[matches!(field.kind, Kind::Number | Kind::Kilograms)] id=(id) name=(field.name) type="text"
                    value=(value) list=[(field.name == "properties.breed").then_some("breeds")] autocomplete="off"
                    aria-describedby=[described] autofocus[is_first];
            },
        }
    }

    fn boxes(&self, field: &Field, is_first: bool) -> Markup {
        let chosen = self.typed.all(field.name);
        let main = self.form.category.id;
        let parent = |id: i64| self.parts.iter().find(|part| part.id == id)?.parent_id;
        let is_part = |part: &&Category| part.id != main && ancestors(part.id, parent).any(|id| id == main);
        let parts = self.parts.iter().filter(is_part);
        let mut choices: Vec<(String, String)> = match field.kind {
            Kind::Several(choices) | Kind::Joined(choices) => {
                choices.iter().map(|(value, label)| ((*value).to_owned(), (*label).to_owned())).collect()
            }
            Kind::Parts => parts.map(|part| (part.id.to_string(), capital(&part.name))).collect(),
            _ => vec![("yes".to_owned(), field.label.to_owned())],
        };
        // What another program has stored is kept.
        for value in chosen.iter().copied().filter(|value| !value.is_empty()) {
            let is_main = field.kind == Kind::Parts && value == main.to_string();
            if !is_main && !choices.iter().any(|(known, _)| known == value) {
                let part =
                    self.parts.iter().find(|part| field.kind == Kind::Parts && part.id.to_string() == value);
                choices.push((value.to_owned(), capital(part.map_or(value, |part| &part.name))));
            }
        }
        html! {
            fieldset.boxes {
                legend { (field.label) }
                @if field.kind == Kind::Parts { input type="hidden" name=(field.name) value=(main); }
                @for (index, (value, label)) in choices.iter().enumerate() {
                    label {
                        input type="checkbox" name=(field.name) value=(value) checked[chosen.contains(&value.as_str())]
                            autofocus[is_first && index == 0];
                        " " (label)
                    }
                }
            }
        }
    }

    /// The fields of files come last: what precedes them in the form proves whose it is.
    fn pictures(&self) -> Markup {
        let error = self.error(FILES);
        html! {
            fieldset.pictures.wrong[error.is_some()] data-pictures="/market/pictures" aria-describedby=[error.map(|_| "error-files")] {
                legend { "Pictures and papers" }
                (stored(&self.typed.all(FILES)))
                label for="f-file" { "Add pictures: choose them, take them with the camera, or drop them here" }
                input #f-file type="file" name="file" multiple accept="image/*,application/pdf" autofocus[self.is_first(FILES)];
                progress hidden max="100" aria-label="Upload" {}
                (error_line(FILES, error))
            }
        }
    }
}

/// Returns the stored files of a form in their order. The first picture is the one of the card.
pub(crate) fn stored(files: &[&str]) -> Markup {
    html! {
        ol.stored {
            @for (index, file) in files.iter().enumerate() {
                @let (id, name) = file.split_once(' ').unwrap_or((file, "file"));
                li draggable="true" {
                    @if !name.to_lowercase().ends_with(".pdf") {
                        img src={ "/files/" (segment(id)) "?width=160" } alt={ "Stored: " (name) } width="120" height="80" loading="lazy";
                    }
                    label { input type="checkbox" name=(FILES) value=(file) checked; " " (name) }
                    @if index > 0 { button name="first" value=(file) { "To the front" span.hidden { ": " (name) } } }
                }
            }
        }
    }
}
