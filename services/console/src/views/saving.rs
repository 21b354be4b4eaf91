//! The form that saves a search of the market.

use maud::{Markup, html};

use super::forms::{TextField, other_notices};
use super::layout::form_token;
use crate::api::FieldError;
use crate::fields::Fields;
use crate::market::MarketQuery;
use crate::user::User;

/// The form, at first or again with what is wrong.
pub(crate) struct SaveView<'a> {
    pub(crate) user: &'a User,
    pub(crate) query: &'a MarketQuery,
    pub(crate) typed: &'a Fields,
    pub(crate) errors: &'a [FieldError],
    pub(crate) key: &'a str,
}

impl SaveView<'_> {
    /// Returns the form.
    pub(crate) fn markup(&self) -> Markup {
        let name = TextField::new("name", "Name of the search", self.typed, self.errors).needed();
        let name = TextField { has_focus: true, ..name };
        html! {
            div.head { h1 { "Save this search" } }
            (other_notices(self.errors, &["name"]))
            form.fields.card.pad method="post" action="/market/save" {
                (form_token(self.user))
                input type="hidden" name="key" value=(self.key);
                input type="hidden" name="query" value=(self.query.encoded());
                div.filters {
                    @for (text, _) in self.query.chips(|_, _| None) { span.chip.on { (text) } }
                }
                (name.line())
                label {
                    input type="checkbox" name="notify" value="yes" checked[self.typed.find("notify").is_some()];
                    " Count new listings that match"
                }
                div.actions {
                    button.primary { "Save" }
                    a.btn href=(self.query.path()) { "Back" }
                }
            }
        }
    }
}
