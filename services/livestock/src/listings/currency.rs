//! ISO 4217 codes of currencies, without funds, metals and test codes.

/// All codes in ascending order, including ANG and BGN, which were replaced recently and are still in use.
const CODES: &str = "\
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF \
    CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG \
    HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA \
    MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD \
    RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX \
    USD UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG";

/// Returns the code that equals a text without regard to case and surrounding white space.
pub(crate) fn find(code: &str) -> Option<&'static str> {
    CODES.split(' ').find(|known| known.eq_ignore_ascii_case(code.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_codes_in_any_case() {
        assert!(CODES.split(' ').all(|code| code.len() == 3));
        assert!(CODES.split(' ').is_sorted());
        assert_eq!(find("gbp"), Some("GBP"));
        for unknown in ["", "GB", "GBP EUR", "POUND", "XXX", "£"] {
            assert_eq!(find(unknown), None, "{unknown}");
        }
    }
}
