//! `cargo run -p idempotent-tests --bin compile_cost`: what the attribute costs the
//! compiler. It makes a package with 200 annotated functions, the same 200 without the attribute,
//! and the same 200 with the protocol written by hand, and times `cargo check` of each alone:
//! paired and alternating. It prints one `name: value` a line, and fails if the attribute costs
//! clearly more than what it writes would cost by hand.
//!
//! See docs/compile_cost.md for the figures, and for what each kind of function is.

mod measure;
mod sources;

use std::process::ExitCode;

use clap::Parser;

use measure::{Check, Ir};
use sources::Kind;

/// Measures what the attribute costs the compiler.
#[derive(Parser)]
struct Options {
    /// How many functions the package has.
    #[arg(long, default_value_t = 200)]
    functions: usize,
    /// How often each kind is checked.
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    /// Whether the lines of LLVM IR are counted, too: this compiles all dependencies.
    #[arg(long)]
    ir: bool,
    /// How many times the time of the functions by hand the annotated ones' may take, at most.
    #[arg(long, default_value_t = 1.3)]
    most: f64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("more than {} times what is written by hand", options.most);
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<bool, Box<dyn std::error::Error>> {
    let check = Check::prepare(options.functions)?;
    println!("functions: {}", options.functions);
    println!("rounds: {}", options.rounds);
    let times = check.alternate(options.rounds)?;
    for (kind, times) in Kind::ALL.iter().zip(&times) {
        println!("check {kind}: {:.0} ms", times.median());
    }
    let [plain, annotated, by_hand] = &times;
    let ratio = annotated.paired(by_hand);
    println!("annotated to by hand: {ratio:.2}");
    println!("annotated to plain: {:.2}", annotated.paired(plain));
    println!("by hand to plain: {:.2}", by_hand.paired(plain));
    if options.ir {
        for kind in Kind::ALL {
            let lines = Ir::lines_a_function(kind)?;
            println!("lines of LLVM IR a function, {kind}: {lines:.0}");
        }
    }
    Ok(ratio <= options.most)
}
