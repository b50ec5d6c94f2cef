//! What is compared, and how far apart it may be.

use comfy_table::Table;

use crate::speed::markdown;

/// One figure beside what it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The experiment.
    pub of: String,
    /// What it is of it.
    pub name: String,
    /// What it should be.
    pub expected: f64,
    /// What `bakeoff load` says; `None` where it says nothing, or only that it is at
    /// least so much. What must be there and isn't is missed.
    pub measured: Option<f64>,
    /// How far apart they may be.
    pub allowed: Allowed,
}

/// How far a figure may be from what it should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Allowed {
    /// A time in µs: this share of it and so many µs.
    Time(Margin),
    /// A rate: this share of it.
    Share(f64),
    /// A count: nothing.
    Nothing,
    /// A time in µs that must stay below a tenth of what it should be: a closed
    /// loop can't see a stall.
    FarBelow,
    /// 1 for yes, 0 for no.
    Yes,
}

/// A share of a time, and µs beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margin {
    /// The share.
    pub share: f64,
    /// The rest.
    pub us: f64,
}

impl Figure {
    /// Whether it is what it should be.
    pub fn holds(&self) -> bool {
        match self.allowed {
            Allowed::FarBelow => self.used() < 1.0,
            _ => self.used() <= 1.0,
        }
    }

    /// How much it uses of what is allowed: 1 is the edge.
    fn used(&self) -> f64 {
        let Some(measured) = self.measured else { return f64::INFINITY };
        let apart = (measured - self.expected).abs();
        match self.allowed {
            Allowed::Time(margin) => apart / (margin.share * self.expected + margin.us),
            // Where nothing was asked for, nothing may be.
            Allowed::Share(share) => apart / (share * self.expected).max(f64::MIN_POSITIVE),
            Allowed::Nothing | Allowed::Yes if apart == 0.0 => 0.0,
            // A time of 0 is none.
            Allowed::FarBelow if measured > 0.0 => measured / (self.expected / 10.0),
            Allowed::Nothing | Allowed::Yes | Allowed::FarBelow => f64::INFINITY,
        }
    }

    fn is_count(&self) -> bool {
        self.allowed == Allowed::Nothing
    }

    fn cells(&self) -> [String; 6] {
        let number = |value: f64| match self.allowed {
            Allowed::Time(_) | Allowed::FarBelow => format!("{:.3} ms", value / 1e3),
            Allowed::Share(_) => format!("{value:.1} /s"),
            Allowed::Nothing => format!("{value}"),
            Allowed::Yes => if value == 1.0 { "yes" } else { "no" }.into(),
        };
        let allowed = match self.allowed {
            Allowed::Time(Margin { share, us }) => {
                format!("± {:.3} ms", (share * self.expected + us) / 1e3)
            }
            Allowed::Share(share) => format!("± {:.1} %", share * 100.0),
            Allowed::Nothing => "exact".into(),
            Allowed::Yes => String::new(),
            Allowed::FarBelow => "below a tenth".into(),
        };
        [
            self.of.clone(),
            self.name.clone(),
            number(self.expected),
            self.measured.map_or_else(|| "none".into(), number),
            allowed,
            if self.holds() { "holds" } else { "MISSED" }.into(),
        ]
    }
}

/// Of the same figures from several rounds: the one in the middle where the
/// machine's noise has a say, the worst where it has none.
pub fn over_rounds(rounds: &[Vec<Figure>]) -> Vec<Figure> {
    let Some(first) = rounds.first() else { return Vec::new() };
    first
        .iter()
        .filter_map(|figure| {
            let mut same: Vec<&Figure> = rounds
                .iter()
                .flatten()
                .filter(|other| other.of == figure.of && other.name == figure.name)
                .collect();
            let off = |figure: &Figure| {
                figure.measured.unwrap_or(f64::INFINITY) / figure.expected.max(1.0)
            };
            same.sort_by(|a, b| off(a).total_cmp(&off(b)));
            match figure.allowed {
                Allowed::Nothing | Allowed::Yes => {
                    same.iter().find(|figure| !figure.holds()).or(same.first())
                }
                _ => same.get(same.len() / 2),
            }
            .map(|figure| (*figure).clone())
        })
        .collect()
}

/// The figures as a table. Counts have a row only if they are wrong.
pub fn table(figures: &[Figure]) -> Table {
    let mut table = markdown();
    table.set_header(["experiment", "figure", "should be", "bakeoff load", "allowed", ""]);
    for figure in figures.iter().filter(|figure| !(figure.is_count() && figure.holds())) {
        table.add_row(figure.cells());
    }
    table
}

/// The counts in one sentence: those at the server beside the client's, and the
/// sums of the client's account.
pub fn counts(figures: &[Figure]) -> String {
    let (right, wrong): (Vec<&Figure>, Vec<&Figure>) =
        figures.iter().filter(|figure| figure.is_count()).partition(|figure| figure.holds());
    match wrong.len() {
        0 => format!("All {} counts are exact.", right.len()),
        wrong => format!("{wrong} of {} counts are WRONG.", wrong + right.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(expected: f64, measured: f64, allowed: Allowed) -> Figure {
        Figure { of: "x".into(), name: "y".into(), expected, measured: Some(measured), allowed }
    }

    #[test]
    fn each_margin_has_its_edge() {
        let margin = Allowed::Time(Margin { share: 0.02, us: 100.0 });
        assert!(figure(5_000.0, 5_200.0, margin).holds());
        assert!(!figure(5_000.0, 5_201.0, margin).holds());
        assert!(!figure(5_000.0, 4_799.0, margin).holds());
        assert!(figure(1_000.0, 1_005.0, Allowed::Share(0.005)).holds());
        assert!(!figure(1_000.0, 1_006.0, Allowed::Share(0.005)).holds());
        assert!(!figure(1_000.0, 1_001.0, Allowed::Nothing).holds());
        assert!(!figure(1_000.0, 100.0, Allowed::FarBelow).holds());
        assert!(figure(1_000.0, 99.0, Allowed::FarBelow).holds());
        assert!(!figure(1_000.0, 0.0, Allowed::FarBelow).holds(), "a time of 0 was taken for one");
    }

    #[test]
    fn what_must_be_there_and_is_not_is_missed() {
        let margin = Margin { share: 0.25, us: 5_000.0 };
        for allowed in
            [Allowed::Time(margin), Allowed::Share(0.05), Allowed::Nothing, Allowed::FarBelow]
        {
            let none = Figure { measured: None, ..figure(1_000.0, 0.0, allowed) };
            assert!(!none.holds(), "{allowed:?}: nothing was taken for enough");
            let table = table(&[none]).to_string();
            assert!(table.contains("none") && table.contains("MISSED"), "{table}");
        }
    }

    #[test]
    fn a_wrong_count_is_shown_and_right_ones_are_summed_up() {
        let (right, wrong) =
            (figure(7.0, 7.0, Allowed::Nothing), figure(7.0, 8.0, Allowed::Nothing));
        let all_right = [right.clone(), right.clone()];
        assert_eq!(counts(&all_right), "All 2 counts are exact.");
        assert!(!table(&all_right).to_string().contains('7'));
        let one_wrong = [right, wrong];
        assert_eq!(counts(&one_wrong), "1 of 2 counts are WRONG.");
        assert!(table(&one_wrong).to_string().contains("MISSED"));
    }

    #[test]
    fn noise_of_one_round_is_passed_over_and_a_wrong_count_is_not() {
        let noisy = |measured| vec![figure(1_000.0, measured, Allowed::Share(0.01))];
        let middle = over_rounds(&[noisy(1_001.0), noisy(2_000.0), noisy(1_002.0)]);
        assert_eq!(middle[0].measured, Some(1_002.0));
        let count = |measured| vec![figure(7.0, measured, Allowed::Nothing)];
        assert!(!over_rounds(&[count(7.0), count(8.0), count(7.0)])[0].holds());
    }

    #[test]
    fn a_round_without_a_figure_is_the_worst_and_not_left_out() {
        let share = Allowed::Share(0.01);
        let with = vec![figure(1_000.0, 1_000.0, share)];
        let without = vec![Figure { measured: None, ..with[0].clone() }];
        let over = |rounds: [&Vec<Figure>; 3]| over_rounds(&rounds.map(Clone::clone));
        assert!(over([&with, &with, &without])[0].holds());
        assert!(!over([&with, &without, &without])[0].holds());
    }
}
