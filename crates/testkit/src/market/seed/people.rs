//! The people of the sample market. None of them exists.

/// A user and the organisation that the user acts for. Without an organisation, `org` is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    /// User id.
    pub user: &'static str,
    /// Name of the user.
    pub name: &'static str,
    /// Id of the organisation.
    pub org: &'static str,
    /// Name of the organisation.
    pub org_name: &'static str,
}

const fn person(user: &'static str, name: &'static str, org: &'static str, org_name: &'static str) -> Person {
    Person { user, name, org, org_name }
}

/// A farm that lists livestock.
#[derive(Debug, Clone, Copy)]
pub struct Farm {
    /// The farmer.
    pub person: Person,
    /// Latitude and longitude in degrees.
    pub point: (f64, f64),
    /// Breed of most of its sheep.
    pub sheep: &'static str,
    /// Breed of most of its cattle.
    pub cattle: &'static str,
    /// Relative number of its listings.
    pub share: usize,
}

const fn farm(person: Person, point: (f64, f64), [sheep, cattle]: [&'static str; 2], share: usize) -> Farm {
    Farm { person, point, sheep, cattle, share }
}

/// Farms of Wales, England, Scotland, Northern Ireland and Ireland. Some counties have many listings, most have few.
#[rustfmt::skip]
pub const FARMS: [Farm; 40] = [
    farm(person("carys", "Carys", "penybont-farm", "Penybont Farm"), (51.9469, -3.3915), ["Beulah Speckled Face", "Hereford"], 9),
    farm(person("gethin", "Gethin", "cwm-isaf", "Cwm Isaf"), (52.55, -3.45), ["Welsh Mountain", "Welsh Black"], 6),
    farm(person("nerys", "Nerys", "hafod-y-garreg", "Hafod y Garreg"), (53.05, -3.75), ["Welsh Mountain", "Welsh Black"], 3),
    farm(person("rhodri", "Rhodri", "ty-gwyn", "Ty Gwyn"), (52.10, -4.20), ["Llanwenog", "Limousin"], 3),
    farm(person("eleri", "Eleri", "pant-glas", "Pant Glas"), (51.83, -4.35), ["Lleyn", "Holstein Friesian"], 3),
    farm(person("tom", "Tom", "wye-valley-farm", "Wye Valley Farm"), (51.6466, -2.6733), ["Texel", "Hereford"], 3),
    farm(person("harriet", "Harriet", "lower-hopton", "Lower Hopton"), (52.38, -2.97), ["Kerry Hill", "Hereford"], 5),
    farm(person("jack", "Jack", "court-house-farm", "Court House Farm"), (52.20, -2.85), ["Ryeland", "Hereford"], 7),
    farm(person("edie", "Edie", "clun-bank", "Clun Bank"), (52.42, -3.03), ["Clun Forest", "Limousin"], 3),
    farm(person("rosie", "Rosie", "higher-combe", "Higher Combe"), (50.83, -3.95), ["Suffolk", "South Devon"], 6),
    farm(person("jago", "Jago", "trevean", "Trevean"), (50.40, -4.95), ["Suffolk", "Devon"], 3),
    farm(person("fern", "Fern", "moorland-view", "Moorland View"), (50.60, -3.90), ["Whiteface Dartmoor", "Galloway"], 2),
    farm(person("giles", "Giles", "wylye-manor", "Wylye Manor Farm"), (51.13, -2.00), ["Hampshire Down", "Aberdeen Angus"], 2),
    farm(person("poppy", "Poppy", "blackdown-farm", "Blackdown Farm"), (50.88, -3.15), ["Poll Dorset", "Charolais"], 3),
    farm(person("kit", "Kit", "romney-wallands", "Romney Wallands"), (50.98, 0.88), ["Romney", "Sussex"], 2),
    farm(person("stan", "Stan", "fen-end", "Fen End Farm"), (52.45, 0.20), ["Suffolk", "Limousin"], 1),
    farm(person("ivy", "Ivy", "breckland-farm", "Breckland Farm"), (52.55, 0.75), ["Norfolk Horn", "Red Poll"], 1),
    farm(person("hugo", "Hugo", "belvoir-lodge", "Belvoir Lodge"), (52.90, -0.78), ["Texel", "Lincoln Red"], 2),
    farm(person("alf", "Alf", "scar-top", "Scar Top"), (54.15, -2.15), ["Swaledale", "Limousin"], 8),
    farm(person("ruby", "Ruby", "hawes-side", "Hawes Side"), (54.31, -2.20), ["Swaledale", "Belted Galloway"], 4),
    farm(person("isaac", "Isaac", "fellside", "Fellside"), (54.58, -3.10), ["Herdwick", "Galloway"], 4),
    farm(person("molly", "Molly", "eden-bank", "Eden Bank"), (54.65, -2.70), ["North of England Mule", "Limousin"], 9),
    farm(person("joan", "Joan", "kielder-rigg", "Kielder Rigg"), (55.18, -2.35), ["North Country Cheviot", "Galloway"], 3),
    farm(person("fred", "Fred", "bowland-edge", "Bowland Edge"), (53.95, -2.45), ["Lonk", "British Blue"], 3),
    farm(person("percy", "Percy", "wold-top", "Wold Top"), (54.05, -0.65), ["Texel", "Charolais"], 2),
    farm(person("dot", "Dot", "white-peak", "White Peak Farm"), (53.20, -1.75), ["Derbyshire Gritstone", "Simmental"], 2),
    farm(person("morag", "Morag", "glenkens", "Glenkens"), (55.10, -4.15), ["Scottish Blackface", "Galloway"], 5),
    farm(person("hamish", "Hamish", "lammermuir", "Lammermuir"), (55.80, -2.60), ["Scotch Mule", "Aberdeen Angus"], 4),
    farm(person("isla", "Isla", "strathbogie", "Strathbogie"), (57.40, -2.80), ["Suffolk", "Aberdeen Angus"], 7),
    farm(person("callum", "Callum", "glen-lyon", "Glen Lyon"), (56.60, -4.15), ["Scottish Blackface", "Highland"], 3),
    farm(person("mairi", "Mairi", "balmeanach", "Balmeanach Croft"), (57.42, -6.15), ["Cheviot", "Highland"], 1),
    farm(person("erlend", "Erlend", "stenness-mains", "Stenness Mains"), (59.00, -3.20), ["Texel", "Aberdeen Angus"], 1),
    farm(person("conor", "Conor", "sperrin-view", "Sperrin View"), (54.75, -7.15), ["Texel", "Limousin"], 4),
    farm(person("grainne", "Grainne", "mourne-farm", "Mourne Farm"), (54.18, -6.05), ["Scottish Blackface", "Irish Moiled"], 1),
    farm(person("aoife", "Aoife", "corrib-farm", "Corrib Farm"), (53.45, -9.25), ["Galway", "Charolais"], 4),
    farm(person("declan", "Declan", "golden-vale", "Golden Vale Farm"), (52.45, -8.20), ["Belclare", "British Friesian"], 5),
    farm(person("niamh", "Niamh", "burren-farm", "Burren Farm"), (53.02, -9.05), ["Mayo Connemara Blackface", "Shorthorn"], 2),
    farm(person("sean", "Sean", "wicklow-gap", "Wicklow Gap"), (53.00, -6.35), ["Wicklow Cheviot", "Aberdeen Angus"], 3),
    farm(person("roisin", "Roisin", "boyne-farm", "Boyne Farm"), (53.70, -6.65), ["Suffolk", "Charolais"], 3),
    farm(person("fionn", "Fionn", "gweebarra", "Gweebarra"), (54.90, -8.05), ["Mayo Connemara Blackface", "Limousin"], 2),
];

/// An organiser or a carrier of loads.
#[derive(Debug, Clone, Copy)]
pub struct Party {
    /// Who acts for it.
    pub person: Person,
    /// Letters of its references or of the registrations of its lorries.
    pub letters: &'static str,
    /// Latitude and longitude in degrees.
    pub point: (f64, f64),
}

const fn party(person: Person, letters: &'static str, point: (f64, f64)) -> Party {
    Party { person, letters, point }
}

/// Organisers of loads and the relative numbers of their loads.
#[rustfmt::skip]
pub const ORGANISERS: [(Party, usize); 7] = [
    (party(person("owen", "Owen", "border-grain", "Border Grain Merchants"), "BG", (52.25, -2.90)), 35),
    (party(person("carys", "Carys", "penybont-farm", "Penybont Farm"), "PB", (51.9469, -3.3915)), 15),
    (party(person("wilf", "Wilf", "wold-arable", "Wold Arable"), "WA", (54.05, -0.70)), 15),
    (party(person("kirsty", "Kirsty", "tay-valley-grain", "Tay Valley Grain"), "TV", (56.50, -3.30)), 12),
    (party(person("orla", "Orla", "suir-feeds", "Suir Feeds"), "SF", (52.40, -7.80)), 10),
    (party(person("beth", "Beth", "fenland-produce", "Fenland Produce"), "FP", (52.55, 0.10)), 8),
    (party(person("hal", "Hal", "severn-forage", "Severn Forage"), "SV", (51.90, -2.30)), 5),
];

/// Hauliers. A load usually goes with the one that is nearest to its organiser, else with the first.
#[rustfmt::skip]
pub const HAULIERS: [Party; 6] = [
    party(person("ruth", "Ruth", "hereford-haulage", "Hereford Haulage"), "VX", (52.06, -2.71)),
    party(person("len", "Len", "dales-bulk", "Dales Bulk Transport"), "YK", (54.10, -1.30)),
    party(person("gavin", "Gavin", "strathmore-haulage", "Strathmore Haulage"), "SP", (56.65, -2.90)),
    party(person("priya", "Priya", "fen-freight", "Fen Freight"), "AO", (52.60, 0.30)),
    party(person("dermot", "Dermot", "celtic-bulk", "Celtic Bulk"), "TN", (52.25, -7.10)),
    party(person("dai", "Dai", "dai-evans", "Dai Evans Transport"), "CX", (51.95, -3.40)),
];

/// Drivers, who act for no organisation.
pub const DRIVERS: [Person; 5] = [
    person("driver-megan", "Megan", "", ""),
    person("driver-stefan", "Stefan", "", ""),
    person("driver-aled", "Aled", "", ""),
    person("driver-shona", "Shona", "", ""),
    person("driver-ciaran", "Ciaran", "", ""),
];

/// An administrator, who finds all loads.
pub const ADMIN: Person = person("anna", "Anna", "drover", "Drover");

/// Every person once.
pub fn all() -> impl Iterator<Item = Person> {
    let farmers = FARMS.iter().map(|farm| farm.person);
    let organisers = ORGANISERS.iter().map(|(party, _)| party.person);
    let hauliers = HAULIERS.iter().map(|party| party.person);
    farmers.chain(organisers).chain(hauliers).chain(DRIVERS).chain([ADMIN])
}
