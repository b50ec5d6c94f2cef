//! An axis of powers of ten, with round ends.

/// From one round value to another, both above 0.
pub struct Decades {
    min: f64,
    max: f64,
}

impl Decades {
    /// An axis that has all of these on it; `None` where none can be.
    pub fn over(values: impl Iterator<Item = f64> + Clone) -> Option<Decades> {
        let values = values.filter(|value| value.is_finite() && *value > 0.0);
        let min = round_down(values.clone().min_by(f64::total_cmp)?);
        let max = round_up(values.max_by(f64::total_cmp)?).max(min * 2.0);
        Some(Decades { min, max })
    }

    /// The share of the axis that lies below a value.
    pub fn share(&self, value: f64) -> f64 {
        ((value / self.min).log10() / (self.max / self.min).log10()).clamp(0.0, 1.0)
    }

    /// The values that have a line across the plot: powers of ten, and 2 and 5 between them
    /// where those are few.
    pub fn lines(&self) -> Vec<f64> {
        let has_few = self.max / self.min <= 100.0;
        let first = self.min.log10().floor() as i32;
        (first..first + 16)
            .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| (digit, 10_f64.powi(power))))
            .filter(|(digit, _)| has_few || *digit == 1.0)
            .map(|(digit, power)| digit * power)
            .filter(|value| (self.min * 0.999..=self.max * 1.001).contains(value))
            .collect()
    }
}

/// The next of 1, 2 and 5 by powers of ten that is not above.
fn round_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let digit = [5.0, 2.0, 1.0].into_iter().find(|digit| digit * power <= value * 1.0001);
    digit.unwrap_or(1.0) * power
}

/// The next of them that is not below.
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let digit = [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= value * 0.9999);
    digit.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_round_ends_and_a_few_lines() {
        for (min, max) in [(0.4, 0.9), (130.0, 700.0), (17.8, 17_039.0), (900.0, 9.1e6)] {
            let axis = Decades::over([max, min].into_iter()).unwrap();
            assert!(axis.min <= min && max <= axis.max, "{min} to {max} sticks out");
            let lines = axis.lines();
            assert!((2..=9).contains(&lines.len()), "{min} to {max} has lines at {lines:?}");
        }
        let one = Decades::over([0.0, 30.0, f64::NAN].into_iter()).unwrap();
        assert_eq!((one.share(20.0), one.share(50.0)), (0.0, 1.0));
        assert!(Decades::over([0.0].into_iter()).is_none(), "nothing is above 0");
    }
}
