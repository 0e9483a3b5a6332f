//! Pages and visits, by the rules of HiBench's generator.

use std::io::Write;

use crate::draws::{below, mix, unit};

/// Days from 1970-01-01 to before 2012-05-01.
const DAYS: u64 = 15_461;
const AGENTS: u64 = 2000;
const WORDS: u64 = 1000;
const COUNTRIES: [(&str, &str); 10] = [
    ("USA", "en-US"),
    ("CHN", "zh-CN"),
    ("DEU", "de-DE"),
    ("JPN", "ja-JP"),
    ("GBR", "en-GB"),
    ("FRA", "fr-FR"),
    ("BRA", "pt-BR"),
    ("RUS", "ru-RU"),
    ("IND", "hi-IN"),
    ("CHE", "de-CH"),
];

/// The tables `rankings` and `uservisits`. Each row depends on the seed and its number alone, but for a page's rank, which is
/// the number of links it gets from all pages.
#[derive(Debug, Clone)]
pub struct HiveData {
    seed: u64,
    visits: u64,
    /// Links to each page.
    ranks: Vec<u32>,
    dates: Vec<String>,
}

/// What the queries ask of a visit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Visit {
    pub(super) address: u32,
    pub(super) page: u64,
    /// Days since 1970-01-01.
    pub(super) day: u64,
    /// A multiple of 1/1024, so that sums are exact in any order.
    pub(super) revenue: f64,
}

/// Counts what passes.
struct Counting<W>(W, u64);

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.0.write(bytes)?;
        self.1 += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl HiveData {
    /// So many pages, of which those without a link are left out, and so many visits.
    #[must_use]
    pub fn new(pages: u64, visits: u64, seed: u64) -> Self {
        let mut made = Self {
            seed,
            visits,
            ranks: vec![0; pages.max(1) as usize],
            dates: dates(),
        };
        made.link();
        made
    }

    /// About 40 links from each page (5 % of a normal distribution around 800), to pages after Zipf's law.
    fn link(&mut self) {
        let pages = self.ranks.len();
        let mut so_far = 0.0;
        let shares: Vec<f64> = (1..=pages)
            .map(|rank| {
                so_far += 1.0 / rank as f64;
                so_far
            })
            .collect();
        for page in 0..pages as u64 {
            // The sum of twelve uniform numbers, less 6, is nearly normal.
            let normal: f64 = (0..12).map(|at| unit(self.draw(page, at))).sum::<f64>() - 6.0;
            let links = (normal.mul_add(80.0, 800.0).abs() * 0.05) as u64;
            for link in 0..links {
                let place = unit(self.draw(page, 100 + link)) * so_far;
                let target = shares.partition_point(|&known| known <= place);
                if let Some(rank) = self.ranks.get_mut(target) {
                    *rank += 1;
                }
            }
        }
    }

    /// Pages before those without a link are left out.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.ranks.len() as u64
    }

    /// Rows of `rankings`.
    #[must_use]
    pub fn rankings(&self) -> u64 {
        self.ranks.iter().filter(|rank| **rank > 0).count() as u64
    }

    /// Rows of `uservisits`.
    #[must_use]
    pub fn visits(&self) -> u64 {
        self.visits
    }

    /// The rank of a page; `None` if it is left out.
    pub(super) fn rank(&self, page: u64) -> Option<u32> {
        self.ranks
            .get(page as usize)
            .copied()
            .filter(|rank| *rank > 0)
    }

    /// The URL of a page: 10 to 100 letters.
    pub(super) fn url(&self, page: u64) -> String {
        let length = 10 + below(self.draw(page, 20), 91);
        let letters = (0..length).map(|at| {
            let letter = below(self.draw(page, 1000 + at), 26) as u8;
            char::from(b'a' + letter)
        });
        letters.collect()
    }

    pub(super) fn visit(&self, number: u64) -> Visit {
        let draw = |at| self.draw(!number, at);
        Visit {
            address: draw(0) as u32,
            page: below(draw(1), self.pages()),
            day: below(draw(2), DAYS),
            revenue: below(draw(3), 1 << 20) as f64 / 1024.0,
        }
    }

    /// A date as text.
    pub(super) fn date(&self, day: u64) -> &str {
        self.dates.get(day as usize).map_or("", String::as_str)
    }

    /// Writes `rankings` as CSV with a header; returns the bytes of its rows.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_rankings(&self, mut out: impl Write) -> std::io::Result<u64> {
        writeln!(out, "pageurl,pagerank,avgduration")?;
        let mut out = Counting(out, 0);
        for page in 0..self.pages() {
            if let Some(rank) = self.rank(page) {
                let duration = 1 + below(self.draw(page, 21), 99);
                writeln!(out, "{},{rank},{duration}", self.url(page))?;
            }
        }
        out.flush()?;
        Ok(out.1)
    }

    /// Writes `uservisits` as CSV with a header, each row after its number; returns the bytes of its rows, without the
    /// number.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_visits(&self, mut out: impl Write) -> std::io::Result<u64> {
        writeln!(
            out,
            "visit,sourceip,desturl,visitdate,adrevenue,useragent,countrycode,languagecode,searchword,duration"
        )?;
        let (mut row, mut bytes) = (Vec::new(), 0);
        for number in 0..self.visits {
            let visit = self.visit(number);
            let draw = |at| self.draw(!number, at);
            let [a, b, c, d] = visit.address.to_be_bytes();
            let agent = skewed(draw(4), AGENTS);
            let (country, language) = COUNTRIES
                .get(skewed(draw(5), COUNTRIES.len() as u64) as usize)
                .copied()
                .unwrap_or_default();
            row.clear();
            writeln!(
                row,
                "{a}.{b}.{c}.{d},{},{},{},Mozilla/5.0 (compatible; platform {}; release {}; visitor {agent}) engine/537.36 like others of its time,{country},{language},word{},{}",
                self.url(visit.page),
                self.date(visit.day),
                visit.revenue,
                agent % 9,
                agent % 31,
                below(draw(6), WORDS),
                1 + below(draw(7), 10)
            )?;
            write!(out, "{number},")?;
            out.write_all(&row)?;
            bytes += row.len() as u64;
        }
        out.flush()?;
        Ok(bytes)
    }

    fn draw(&self, number: u64, at: u64) -> u64 {
        mix(mix(self.seed.wrapping_add(number)) ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// A number below `limit`, small ones more often.
fn skewed(draw: u64, limit: u64) -> u64 {
    let place = unit(draw);
    (place * place * limit as f64) as u64
}

/// All dates from 1970-01-01 to before 2012-05-01.
fn dates() -> Vec<String> {
    let mut all = Vec::with_capacity(DAYS as usize);
    for year in 1970..2013_u32 {
        let leap = year % 4 == 0;
        for month in 1..=12_u32 {
            let days = match month {
                2 if leap => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            all.extend((1..=days).map(|day| format!("{year}-{month:02}-{day:02}")));
        }
    }
    all.truncate(DAYS as usize);
    all
}
