//! A form with one choice, and perhaps a text.

use maud::{Markup, html};

use super::forms::{TextField, other_notices};
use super::layout::form_token;
use crate::api::FieldError;
use crate::fields::Fields;
use crate::user::User;

/// The form, at first or again with what is wrong.
pub(crate) struct ChoiceView<'a> {
    pub(crate) user: &'a User,
    pub(crate) action: &'a str,
    pub(crate) back: &'a str,
    pub(crate) legend: &'a str,
    /// Values and what people read.
    pub(crate) choices: &'a [(&'static str, &'static str)],
    /// The label of the text, if there is one.
    pub(crate) message: Option<&'a str>,
    pub(crate) submit: &'a str,
    pub(crate) typed: &'a Fields,
    pub(crate) errors: &'a [FieldError],
    pub(crate) key: &'a str,
}

impl ChoiceView<'_> {
    /// Returns the form.
    pub(crate) fn markup(&self) -> Markup {
        let chosen = self.typed.get("choice");
        let is_chosen =
            |value: &str| if chosen.is_empty() { self.choices.len() == 1 } else { chosen == value };
        let placed = ["message"];
        html! {
            (other_notices(self.errors, if self.message.is_some() { &placed } else { &[] }))
            form.fields.card.pad method="post" action=(self.action) {
                (form_token(self.user))
                input type="hidden" name="key" value=(self.key);
                fieldset {
                    legend { (self.legend) }
                    @for (value, label) in self.choices {
                        label {
                            input type="radio" name="choice" value=(value) required checked[is_chosen(value)];
                            " " (label)
                        }
                    }
                }
                @if let Some(label) = self.message {
                    (TextField::new("message", label, self.typed, self.errors).lines(3))
                }
                div.actions {
                    button.primary { (self.submit) }
                    a.btn href=(self.back) { "Back" }
                }
            }
        }
    }
}
