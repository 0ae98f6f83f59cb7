// bench/harness/problems.rs: the problems of bench/fork_join/problems.hpp in Rust, number for number.
use crate::{Sample, timed};

pub fn fib_of(n: u64) -> u64 {
    (0..n).fold((0, 1), |(low, high), _| (high, low + high)).0
}

pub fn timed_fib(n: u64, fib: impl FnOnce(u64) -> u64) -> Sample {
    timed(2.0 * fib_of(n + 1) as f64 - 1.0, fib_of(n), || fib(n))
}

pub const SKYNET_CHILDREN: u64 = 10;

pub fn timed_skynet(depth: u64, skynet: impl FnOnce(u64, u64) -> u64) -> Sample {
    let leaves = SKYNET_CHILDREN.pow(depth as u32);
    timed(leaves as f64, leaves * (leaves - 1) / 2, || skynet(0, leaves))
}

#[derive(Clone, Copy, Default)]
pub struct Board {
    columns: [u8; 16],
}

impl Board {
    #[inline]
    pub fn allows(&self, row: usize, column: usize) -> bool {
        self.columns[..row].iter().enumerate().all(|(above, &taken)| {
            let (distance, taken) = (row - above, taken as usize);
            taken != column && taken + distance != column && column + distance != taken
        })
    }

    #[inline]
    pub fn with(mut self, row: usize, column: usize) -> Board {
        self.columns[row] = column as u8;
        self
    }
}

pub fn timed_nqueens(n: u64, nqueens: impl FnOnce(Board, usize, usize) -> u64) -> Sample {
    const KNOWN: [u64; 15] = [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596];
    timed(1.0, KNOWN[n as usize], || nqueens(Board::default(), 0, n as usize))
}

pub const MATMUL_BLOCK: usize = 64;

/// Part of a square matrix. The caller ensures that no other thread writes the same part of C.
#[derive(Clone, Copy)]
pub struct Block {
    at: *mut f64,
    stride: usize,
}

unsafe impl Send for Block {}
unsafe impl Sync for Block {}

impl Block {
    #[inline]
    pub fn quarter(self, half: usize, row: usize, column: usize) -> Block {
        Block { at: unsafe { self.at.add(row * half * self.stride + column * half) }, stride: self.stride }
    }
}

/// As in problems.hpp: four rows of B at a time.
pub fn multiply_block(a: Block, b: Block, c: Block, n: usize) {
    unsafe {
        for i in 0..n {
            let to = std::slice::from_raw_parts_mut(c.at.add(i * c.stride), n);
            for k in (0..n).step_by(4) {
                let f = std::slice::from_raw_parts(a.at.add(i * a.stride + k), 4);
                let row = |of: usize| std::slice::from_raw_parts(b.at.add((k + of) * b.stride), n);
                let (b0, b1, b2, b3) = (row(0), row(1), row(2), row(3));
                for j in 0..n {
                    to[j] += (f[0] * b0[j] + f[1] * b1[j]) + (f[2] * b2[j] + f[3] * b3[j]);
                }
            }
        }
    }
}

pub fn timed_matmul(n: u64, multiply: impl FnOnce(Block, Block, Block, usize)) -> Sample {
    let n = n as usize;
    let mut a: Vec<f64> = (0..n * n).map(|i| (i * 7 % 13) as f64).collect();
    let mut b: Vec<f64> = (0..n * n).map(|i| (i * 5 % 11) as f64).collect();
    let mut c = vec![0.0; n * n];
    let [left, right, product] = [&mut a, &mut b, &mut c].map(|all| Block { at: all.as_mut_ptr(), stride: n });
    let mut sample = timed(1.0, (), || multiply(left, right, product, n));
    let times = |matrix: &[f64], x: &[f64]| -> Vec<f64> {
        matrix.chunks(n).map(|row| row.iter().zip(x).map(|(value, x)| value * x).sum()).collect()
    };
    let x: Vec<f64> = (0..n).map(|i| (i % 3 + 1) as f64).collect();
    sample.is_right = times(&c, &x) == times(&a, &times(&b, &x));
    sample
}

pub const UTS_ROOT: u64 = 1;
pub const UTS_CHILDREN: u64 = 8;

#[inline]
pub fn uts_child(state: u64, i: u64) -> u64 {
    let mut z = state.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[inline]
pub fn uts_has_children(state: u64) -> bool {
    (state >> 32) % 1_000 < 120
}
