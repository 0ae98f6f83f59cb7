// bench/harness/tokio_compute.rs: where tasks compute beside Tokio's I/O.
use harness::constant_load::Compute;
use tokio::runtime::Handle;

pub trait BesideTokio: Compute {
    fn new(workers: usize, io: &Handle) -> Self;
}

/// On the workers that wait for I/O as well.
pub struct SameWorkers(Handle);

impl BesideTokio for SameWorkers {
    fn new(_workers: usize, io: &Handle) -> Self {
        SameWorkers(io.clone())
    }
}

impl Compute for SameWorkers {
    fn post<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.spawn(async move { task() });
    }
}

/// On as many of rayon, as the authors of Tokio advise for what computes.
pub struct BesideRayon(rayon::ThreadPool);

impl BesideTokio for BesideRayon {
    fn new(workers: usize, _io: &Handle) -> Self {
        BesideRayon(rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap())
    }
}

impl Compute for BesideRayon {
    fn post<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.spawn(task);
    }
}
