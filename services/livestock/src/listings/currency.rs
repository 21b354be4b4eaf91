//! Currencies that money is paid in, by their ISO 4217 codes (without funds, metals and test codes).

/// In order. ANG and BGN, which have just been replaced, are still asked for.
const CODES: &str = "\
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF \
    CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG \
    HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA \
    MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD \
    RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX \
    USD UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG";

/// The code that is meant, written in any case.
pub fn find(code: &str) -> Option<&'static str> {
    CODES.split(' ').find(|known| known.eq_ignore_ascii_case(code.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        assert!(CODES.split(' ').all(|code| code.len() == 3));
        assert!(CODES.split(' ').is_sorted());
        assert_eq!(find("gbp"), Some("GBP"));
        for wrong in ["", "GB", "GBP EUR", "POUND", "XXX", "£"] {
            assert_eq!(find(wrong), None, "{wrong}");
        }
    }
}
