//! What is compared, and how far apart it may be.

use comfy_table::Table;

use crate::page::markdown;

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
            Allowed::Time(Margin { share, us }) => apart / (share * self.expected + us),
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

    /// Whether the machine's noise has no say in it.
    fn is_certain(&self) -> bool {
        matches!(self.allowed, Allowed::Nothing | Allowed::Yes)
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

/// Of the same figures from several rounds: for each experiment all of one round,
/// so that its figures belong together. It is the one in the middle by the figure
/// that uses most of what it is allowed. Where noise has no say, the worst counts.
pub fn over_rounds(rounds: &[Vec<Figure>]) -> Vec<Figure> {
    let Some(first) = rounds.first() else { return Vec::new() };
    let mut experiments: Vec<&str> = first.iter().map(|figure| figure.of.as_str()).collect();
    experiments.dedup();
    experiments.into_iter().flat_map(|of| experiment(of, rounds)).collect()
}

fn experiment(of: &str, rounds: &[Vec<Figure>]) -> Vec<Figure> {
    let mut rounds: Vec<Vec<&Figure>> = rounds
        .iter()
        .map(|figures| figures.iter().filter(|figure| figure.of == of).collect())
        .collect();
    rounds.sort_by(|a, b| most_used(a).total_cmp(&most_used(b)));
    let wrong = |name: &str| {
        let mut all = rounds.iter().flatten().copied();
        all.find(|figure| figure.name == name && !figure.holds())
    };
    let shown = |figure: &&Figure| {
        let wrong = if figure.is_certain() { wrong(&figure.name) } else { None };
        Figure::clone(wrong.unwrap_or(figure))
    };
    rounds[rounds.len() / 2].iter().map(shown).collect()
}

/// How much the worst of the figures uses of what it is allowed, as far as noise
/// has a say.
fn most_used(figures: &[&Figure]) -> f64 {
    let noisy = figures.iter().filter(|figure| !figure.is_certain());
    noisy.map(|figure| figure.used()).fold(0.0, f64::max)
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

/// The counts in one sentence: those at the server beside the client's, the sums of
/// the client's account, and its threads.
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
    fn an_experiments_figures_are_all_of_one_round() {
        let margin = Allowed::Time(Margin { share: 0.02, us: 100.0 });
        // Each round on a machine of another speed, p50 below p90 in each. Its
        // figures miss by this much.
        let round = |p50: f64, p90: f64, by: [f64; 2]| {
            let of = |of: &str, name: &str, expected: f64, by: f64| Figure {
                of: of.into(),
                name: name.into(),
                ..figure(expected, expected + by, margin)
            };
            vec![
                of("closed loop", "p50", p50, by[0]),
                of("closed loop", "p90", p90, by[1]),
                of("open loop", "p50", 5_000.0, 1.0),
            ]
        };
        let rounds = [
            round(6_020.0, 6_030.0, [20.0, 10.0]),
            round(5_800.0, 5_900.0, [10.0, 30.0]),
            round(5_000.0, 5_010.0, [500.0, 20.0]),
        ];
        let shown = over_rounds(&rounds);
        let round = rounds.iter().find(|round| round[0] == shown[0]).unwrap();
        assert_eq!(shown[1], round[1], "p90 is of another round than p50");
        assert_eq!(shown[0].expected, 5_800.0, "the round in the middle misses by 30 µs at most");
        assert_eq!(shown.len(), 3, "an experiment is left out");
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
