# ruff: noqa: E501 - a sentence stays on one line, where it can be read
"""The sentences that made permits are drawn from, each with when it is due."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wording:
    """One duty in several wordings, with the frequency and the rule that a reader should find."""

    section: str
    frequency: str
    rule: str  # the due rule as text: the words of domain.due_rules, without importing them
    forms: tuple[str, ...]


PERMIT: tuple[Wording, ...] = (
    Wording("General management", "CONTINUOUS", "at all times", (
        "The operator shall manage and operate the activities in accordance with a written management system that identifies and minimises risks of pollution.",
        "The activities shall be managed and operated under a written management system which covers risks of pollution, including those from accidents and closure.",
        "A written environmental management system must be in place, and the operator must run the activities in line with it.")),
    Wording("General management", "CONTINUOUS", "at all times", (
        "Any person having duties that are affected by the conditions of this permit shall have convenient access to a copy of it kept at or near the place where those duties are carried out.",
        "A copy of this permit must be kept where staff whose work it affects can readily consult it.")),
    Wording("Energy efficiency", "N_YEARLY", "every 4 years", (
        "The operator shall review and record at least every four years whether there are suitable opportunities to improve the energy efficiency of the activities.",
        "Opportunities to improve energy efficiency must be reviewed, and the outcome recorded, at intervals of not more than four years.",
        "At least once every 4 years the operator shall carry out a review of energy efficiency and record its findings.")),
    Wording("Efficient use of raw materials", "N_YEARLY", "every 4 years", (
        "The operator shall maintain records of raw materials and water used in the activities and review those records at least every four years.",
        "The use of raw materials and water shall be reviewed every four years and the review recorded.")),
    Wording("Avoidance of waste", "N_YEARLY", "every 4 years", (
        "The operator shall review and record at least every four years whether changes to the waste minimisation measures should be made.",
        "A review of measures that avoid waste must take place every 4 years.")),
    Wording("Permitted activities", "CONTINUOUS", "at all times", (
        "The operator is only authorised to carry out the activities specified in schedule 1 table S1.1 and shall not carry out any other.",
        "No activity other than those listed in schedule 1 shall be carried out under this permit.")),
    Wording("The site", "CONTINUOUS", "at all times", (
        "The activities shall not extend beyond the site, being the land shown edged in green on the site plan at schedule 7.",
        "The operator must keep the activities within the boundary marked green on the plan in schedule 7.")),
    Wording("Operating techniques", "CONTINUOUS", "at all times", (
        "The activities shall, subject to the conditions of this permit, be operated using the techniques and in the manner described in the documentation specified in schedule 1, table S1.2.",
        "The operator shall, unless the regulator has agreed otherwise in writing, use the operating techniques that are listed in table S1.2.")),
    Wording("Operating techniques", "EVENT_TRIGGERED", "on event", (
        "If notified by the Environment Agency that the activities are giving rise to pollution, the operator shall submit to the Environment Agency for approval within the period specified, a revision of any plan.",
        "Where the regulator so requests, the operator shall submit a revised operating plan for approval.")),
    Wording("Emissions to air", "CONTINUOUS", "at all times", (
        "The limits given in schedule 3 shall not be exceeded.",
        "Emissions from the points named in schedule 3 must not exceed the limits set there.")),
    Wording("Emissions to air", "CONTINUOUS", "at all times", (
        "There shall be no point source emissions to water, air or land except from the sources and emission points listed in schedule 3 tables S3.1 and S3.2.",
        "No release to air, water or land shall take place except from the points listed in schedule 3.")),
    Wording("Fugitive emissions", "CONTINUOUS", "at all times", (
        "Emissions of substances not controlled by emission limits shall not cause pollution.",
        "The operator must prevent, or where that is not practicable minimise, fugitive releases; appropriate measures must be taken.")),
    Wording("Fugitive emissions", "CONTINUOUS", "at all times", (
        "All liquids in containers, whose emission to water or land could cause pollution, shall be provided with secondary containment.",
        "Tanks and drums that hold polluting liquids must stand within a bund of at least 110 % of the largest container.")),
    Wording("Odour", "CONTINUOUS", "at all times", (
        "Emissions from the activities shall be free from odour at levels likely to cause pollution outside the site, as perceived by an authorised officer.",
        "No odour that causes annoyance shall be perceptible beyond the site boundary.")),
    Wording("Noise", "CONTINUOUS", "at all times", (
        "Emissions from the activities shall be free from noise and vibration at levels likely to cause pollution outside the site.",
        "Noise from the site must not give rise to nuisance at any dwelling.")),
    Wording("Monitoring", "CONTINUOUS", "at all times", (
        "The operator shall, unless otherwise agreed in writing, undertake the monitoring specified in the tables in schedule 3.",
        "Monitoring must be undertaken at the points and for the parameters given in schedule 3.")),
    Wording("Monitoring", "CONTINUOUS", "at all times", (
        "The operator shall maintain records of all monitoring required by this permit including records of the taking and analysis of samples.",
        "Records of every sample taken and of its analysis must be kept.")),
    Wording("Monitoring", "ANNUAL", "every 1 year", (
        "The stack flow meters shall be calibrated annually by a competent person.",
        "Each flow meter must be calibrated at least once a year.",
        "Calibration of the flow meters shall be carried out once per year.")),
    Wording("Monitoring", "QUARTERLY", "every 3 months", (
        "The operator shall inspect all bunds and containment quarterly and record the result.",
        "Bunds must be inspected every three months.",
        "Every quarter the operator shall inspect the bunded areas.")),
    Wording("Monitoring", "MONTHLY", "every 1 month", (
        "Groundwater levels in the boreholes shall be measured monthly.",
        "Once a month the operator must dip each borehole and note the level.")),
    Wording("Monitoring", "WEEKLY", "every 1 week", (
        "The interceptor shall be inspected at least once a week.",
        "The operator must check the oil interceptor weekly.")),
    Wording("Monitoring", "DAILY", "every 1 day", (
        "The operator shall carry out a boundary odour check each working day.",
        "A walk of the boundary to detect odour must be made daily.")),
    Wording("Monitoring", "BIANNUAL", "every 6 months", (
        "Pressure relief valves shall be tested twice a year.",
        "The operator must test pressure relief valves every six months.",
        "Relief valves must undergo six-monthly testing.")),
    Wording("Monitoring", "N_YEARLY", "every 5 years", (
        "The operator shall carry out periodic monitoring of soil at least once every 10 years and of groundwater at least once every 5 years.",)),
    Wording("Combustion plant", "HOURS_BASED", "every 1500 operating hours or 60 months", (
        "Emission monitoring of each engine shall be carried out every 1,500 hours of operation or every five years, whichever is sooner.",
        "Each engine must be tested for emissions every 1500 operating hours or five years, whichever comes first.")),
    Wording("Combustion plant", "CONTINUOUS", "at all times", (
        "Each standby engine shall not be operated for testing for more than 50 hours per year.",
        "Testing of any engine must not exceed 50 hours per annum.")),
    Wording("Records", "CONTINUOUS", "at all times", (
        "All records required to be made by this permit shall be legible and shall be retained for at least 6 years from the date when they were made.",
        "Records must be legible, must be made as soon as reasonably practicable and must be kept for six years.")),
    Wording("Reporting", "ANNUAL", "on 31 January each year", (
        "A report on the performance of the activities over the previous year shall be submitted to the Environment Agency by 31 January (or other date agreed in writing) each year.",
        "By 31 January of each year the operator must send the regulator a report on performance in the previous calendar year.")),
    Wording("Reporting", "QUARTERLY", "within 28 days of the end of each quarter", (
        "Within 28 days of the end of each quarter the operator shall submit the results of monitoring on the forms in schedule 4.",
        "Monitoring results shall be reported to the regulator not later than 28 days after the end of every quarter.")),
    Wording("Reporting", "MONTHLY", "within 10 working days of the end of each month", (
        "The operator shall submit a summary of waste accepted within 10 working days of the end of each month.",
        "Returns of waste movements must be made within ten working days of the end of every calendar month.")),
    Wording("Notifications", "EVENT_TRIGGERED", "on event", (
        "In the event of a breach of any permit condition the operator must immediately inform the Environment Agency.",
        "The Environment Agency shall be notified without delay following the detection of any malfunction or accident which has caused pollution.")),
    Wording("Notifications", "EVENT_TRIGGERED", "on event", (
        "Written confirmation of actual or potential pollution incidents shall be submitted within 24 hours.",
        "The operator shall confirm any incident in writing within 24 hours of becoming aware of it.")),
    Wording("Notifications", "EVENT_TRIGGERED", "on event", (
        "The Environment Agency shall be notified within 14 days of any change in the operator's trading name or registered office.",
        "Any change of the operator's registered address must be notified within fourteen days of the change.")),
    Wording("Notifications", "EVENT_TRIGGERED", "on event", (
        "Where the operator proposes to make a change in the nature or functioning of the activities, the Environment Agency shall be notified at least 14 days before making the change.",
        "The operator must give at least 14 days notice before any change to the functioning of the activities is made.")),
    Wording("Commissioning", "ONE_TIME", "6 months after commissioning", (
        "The operator shall submit a commissioning report to the Environment Agency within 6 months of commissioning of the plant.",
        "Within six months of commissioning, a report on the performance of the plant must be submitted.")),
    Wording("Commissioning", "ONE_TIME", "4 months after issue of the permit", (
        "The first monitoring shall be carried out within 4 months of the issue of this permit.",
        "Initial emission testing must take place within four months of the date of issue of the permit.")),
)  # fmt: skip

CONSENT: tuple[Wording, ...] = (
    Wording("Quantity", "CONTINUOUS", "at all times", (
        "The volume of trade effluent discharged shall not exceed 250 cubic metres in any period of 24 hours.",
        "Not more than 250 cubic metres of trade effluent must be discharged on any one day; that maximum shall not be exceeded.")),
    Wording("Quantity", "CONTINUOUS", "at all times", (
        "The rate of discharge shall not exceed 8 litres per second.",
        "The trade effluent must not be discharged at a rate above 8 litres per second.")),
    Wording("Composition", "CONTINUOUS", "at all times", (
        "The temperature of the trade effluent shall not exceed 43 degrees Celsius.",
        "No trade effluent hotter than 43 °C shall be discharged.")),
    Wording("Composition", "CONTINUOUS", "at all times", (
        "The trade effluent shall have a pH of not less than 6 and not more than 10.",
        "The pH of the discharge must lie between 6 and 10 at all times.")),
    Wording("Composition", "CONTINUOUS", "at all times", (
        "Suspended solids shall not exceed 600 milligrams per litre.",
        "The concentration of suspended solids must be no more than 600 mg/l.")),
    Wording("Composition", "CONTINUOUS", "at all times", (
        "No petroleum spirit or other substance giving off flammable vapour shall be discharged.",
        "The trader must not allow petroleum spirit to enter the sewer.")),
    Wording("Sampling", "WEEKLY", "every 1 week", (
        "The trader shall take a composite sample of the trade effluent at least once a week.",
        "Composite samples must be taken weekly.")),
    Wording("Sampling", "MONTHLY", "every 1 month", (
        "The trader shall have a sample analysed for zinc and copper each month.",
        "Zinc and copper shall be determined monthly.")),
    Wording("Sampling", "CONTINUOUS", "at all times", (
        "An inspection chamber shall be provided and maintained in such a position that samples may readily be taken.",
        "The trader must keep the sampling chamber accessible at all times.")),
    Wording("Metering", "ANNUAL", "every 1 year", (
        "The effluent meter shall be calibrated annually and a certificate sent to the undertaker.",
        "The meter must be recalibrated once a year.")),
    Wording("Records", "CONTINUOUS", "at all times", (
        "The trader shall keep records of the volume, rate and composition of the discharge and make them available on demand.",
        "Records of volume and composition must be kept on the premises for two years.")),
    Wording("Returns", "QUARTERLY", "within 1 month of the end of each quarter", (
        "A return of volumes discharged shall be sent to the undertaker within one month of the end of each quarter.",
        "Not later than one month after the end of each quarter the trader must submit a return of volumes.")),
    Wording("Notice", "EVENT_TRIGGERED", "on event", (
        "The trader shall immediately notify the undertaker of any discharge that does not comply with this consent.",
        "In the event of an accidental discharge the undertaker must be informed forthwith.")),
)  # fmt: skip

NEUTRAL = (
    "The site lies to the north of the town and covers an area of about four hectares.",
    "The installation comprises a production hall, an effluent treatment plant and a yard for vehicles.",
    "Rain water from roofs is collected in a pond before it leaves the site.",
    "The nearest dwelling is about 300 metres to the east.",
)
DEFINITIONS = (
    '"accident" means an accident that may result in pollution.',
    'The term "quarter" shall mean a calendar year quarter commencing on 1 January, 1 April, 1 July or 1 October.',
    '"authorised officer" means any person authorised under section 108 of the Environment Act 1995.',
    "References to the permit shall be construed as including its schedules.",
    "Nothing in this permit shall be taken as relieving any person of duties under other enactments.",
)
IMPROVEMENTS = (
    ("The operator shall submit a written plan for the reduction of water use to the Environment Agency.", "30 September {year}", "once, by 30 September {year}"),
    ("A written report on the integrity of all underground pipework shall be submitted for approval.", "31 March {next}", "once, by 31 March {next}"),
    ("The operator shall carry out a noise survey and submit its results.", "Within 6 months of commissioning", "6 months after commissioning"),
    ("The operator shall install a second level alarm on the caustic tank.", "Within 3 months of the issue of this permit", "3 months after issue of the permit"),
)  # fmt: skip
LIMITS = (
    ("A1", "Oxides of nitrogen", "190 mg/m3", "Annual"),
    ("A1", "Carbon monoxide", "150 mg/m3", "Annual"),
    ("A2", "Particulate matter", "20 mg/m3", "Quarterly"),
    ("W1", "Suspended solids", "60 mg/l", "Weekly"),
    ("W1", "Ammonia", "5 mg/l", "Monthly"),
)
