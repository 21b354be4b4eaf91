//! The form that creates an enquiry.

use common::validation::{Code, ValidationErrors};
use common::wire::{Message, Name, QueryText};
use serde::Deserialize;
use utoipa::ToSchema;

/// The most characters of an address that mail servers accept (RFC 5321, section 4.5.3.1.3).
const MAX_EMAIL_CHARS: usize = 254;

/// An enquiry about a listing. At least one of `phone` and `email` is required.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(
    as = SendEnquiry,
    example = json!({ "message": "Are the steers still for sale?", "name": "Tom Price", "phone": "+44 7700 900123" })
)]
pub(crate) struct EnquiryForm {
    /// What the sender wants to know.
    #[schema(required = true)]
    pub(crate) message: Message,
    /// The sender's name.
    #[schema(required = true)]
    pub(crate) name: Name,
    /// A telephone number: `+` and the digits of E.164, or national digits. Blanks, hyphens, dots and brackets may
    /// separate them.
    pub(crate) phone: Option<QueryText>,
    /// An email address without a name.
    pub(crate) email: Option<QueryText>,
}

impl EnquiryForm {
    /// Returns the telephone number, if there is one.
    pub(crate) fn phone(&self) -> Option<&str> {
        self.phone.as_deref().filter(|phone| !phone.is_empty())
    }

    /// Returns the email address, if there is one.
    pub(crate) fn email(&self) -> Option<&str> {
        self.email.as_deref().filter(|email| !email.is_empty())
    }

    /// Checks the contact.
    pub(crate) fn check(&self, errors: &mut ValidationErrors) {
        if self.phone().is_some_and(|phone| !is_phone(phone)) {
            errors.push(
                "phone",
                Code::Format,
                "must be a telephone number, such as +44 7700 900123 or 01432 123456",
            );
        }
        if self.email().is_some_and(|email| !is_email(email)) {
            errors.push("email", Code::Format, "must be an email address, such as tom@example.com");
        }
        let failed = errors.failed("phone") || errors.failed("email");
        if self.phone().is_none() && self.email().is_none() && !failed {
            for member in ["phone", "email"] {
                errors.push(
                    member,
                    Code::Required,
                    "phone or email is required, so that the seller can answer",
                );
            }
        }
    }
}

/// Returns true for a number of E.164 with its `+`, and for one of 5 to 15 national digits.
fn is_phone(text: &str) -> bool {
    let digits: String = text.chars().filter(|c| !" -.()/".contains(*c)).collect();
    let (international, digits) = digits.strip_prefix('+').map_or((false, &*digits), |digits| (true, digits));
    let length = if international { 7..=15 } else { 5..=15 };
    digits.bytes().all(|byte| byte.is_ascii_digit())
        && length.contains(&digits.len())
        && !(international && digits.starts_with('0'))
}

/// Returns true for an address of the form `local@domain`, whose domain has at least two labels.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_atom = |c: char| c.is_alphanumeric() || "!#$%&'*+/=?^_`{|}~-".contains(c);
    let is_label = |label: &str| {
        let is_end = |c: char| c != '-';
        !label.is_empty()
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
            && label.starts_with(is_end)
            && label.ends_with(is_end)
    };
    text.chars().count() <= MAX_EMAIL_CHARS
        && local.split('.').all(|part| !part.is_empty() && part.chars().all(is_atom))
        && domain.contains('.')
        && domain.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telephone_numbers_and_addresses_are_plain() {
        for phone in ["+447700900123", "+44 7700 900123", "01432 123456", "(01432) 12-34.56", "087/1234567"] {
            assert!(is_phone(phone), "{phone}");
        }
        for phone in [
            "",
            "+0 123456789",
            "1234",
            "+1234567890123456",
            "call me",
            "+",
            "0044 7700 900123 ext 4",
            "٠١٤٣٢١٢٣",
        ] {
            assert!(!is_phone(phone), "{phone}");
        }
        for email in ["tom@example.com", "t.o'm+farm@mail.example.co.uk", "bärbel@höfe.example"] {
            assert!(is_email(email), "{email}");
        }
        for email in [
            "",
            "tom",
            "tom@example",
            "tom@-a.com",
            "Tom <tom@example.com>",
            "a@b@c.com",
            "tom@.com",
            ".a@b.com",
            "a b@c.com",
        ] {
            assert!(!is_email(email), "{email}");
        }
    }
}
