//! The page's colours, on light and on dark paper: they stand out from it, and all
//! kinds of colour vision tell the lines of a chart apart.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../src/html/style.css");

/// Contrast of text, and of what a chart is read by, with the paper: WCAG 2.2, 1.4.3
/// and 1.4.11.
const TEXT_CONTRAST_MIN: f64 = 4.5;
const CHART_CONTRAST_MIN: f64 = 3.0;
const TEXT: [&str; 7] = ["ink", "quiet", "error", "valid", "suspect", "invalid", "not-checked"];
const CHART: [&str; 8] =
    ["interval", "look0", "look1", "look2", "look3", "look4", "look5", "look6"];

/// Two colours side by side differ at 2.3 (CIE 1976); lines are thin and lie apart.
const DIFFERENCE_MIN: f64 = 10.0;

/// What each kind of colour vision makes of linear red, green and blue: Machado,
/// Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color
/// Vision Deficiency", 2009, at full severity.
const VISIONS: [(&str, [[f64; 3]; 3]); 4] = [
    ("usual", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ),
];

/// A colour as linear red, green and blue, from 0 to 1.
type Linear = [f64; 3];

/// The colours of a theme, by name.
fn colours(style: &str) -> BTreeMap<&str, Linear> {
    let declared = style.split("--").filter_map(|text| text.split_once(": #"));
    declared.map(|(name, value)| (name, linear(&value[..6]))).collect()
}

/// The style sheet begins with the colours for light paper, then those for dark.
fn themes() -> [(&'static str, BTreeMap<&'static str, Linear>); 2] {
    let (light, rest) =
        STYLE.split_once("@media screen and (prefers-color-scheme: dark) {").unwrap();
    let dark = rest.split("\n}\n").next().unwrap();
    [("light", colours(light)), ("dark", colours(dark))]
}

fn linear(hex: &str) -> Linear {
    [0, 2, 4].map(|at| {
        let share = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    })
}

fn luminance([red, green, blue]: Linear) -> f64 {
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(a: Linear, b: Linear) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Lightness and the two axes of colour, CIE 1976, under daylight (D65).
fn lab([red, green, blue]: Linear) -> [f64; 3] {
    let x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047;
    let z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883;
    let curve = |t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
    let y = curve(luminance([red, green, blue]));
    [116.0 * y - 16.0, 500.0 * (curve(x) - y), 200.0 * (y - curve(z))]
}

fn difference(vision: &[[f64; 3]; 3], a: Linear, b: Linear) -> f64 {
    let seen = |colour: Linear| {
        let mix =
            |row: &[f64; 3]| row.iter().zip(colour).map(|(share, it)| share * it).sum::<f64>();
        lab([0, 1, 2].map(|at| mix(&vision[at]).clamp(0.0, 1.0)))
    };
    seen(a).iter().zip(seen(b)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn text_and_charts_stand_out_from_the_paper() {
    for (theme, colours) in themes() {
        let enough = |names: &[&str], least: f64| {
            for name in names {
                let contrast = contrast(colours[name], colours["paper"]);
                assert!(contrast >= least, "{name} on {theme} paper: {contrast:.2} to 1");
            }
        };
        enough(&TEXT, TEXT_CONTRAST_MIN);
        enough(&CHART, CHART_CONTRAST_MIN);
    }
}

#[test]
fn every_kind_of_colour_vision_tells_lines_apart() {
    for (theme, colours) in themes() {
        let looks: Vec<_> = colours.iter().filter(|(name, _)| name.starts_with("look")).collect();
        assert_eq!(looks.len(), 7, "{theme}");
        for (at, (one, a)) in looks.iter().enumerate() {
            for (other, b) in &looks[at + 1..] {
                for (vision, matrix) in &VISIONS {
                    let apart = difference(matrix, **a, **b);
                    let what = format!("{one} and {other} on {theme} paper, {vision}");
                    assert!(apart >= DIFFERENCE_MIN, "{what}: {apart:.1} apart");
                }
            }
        }
    }
}
