// How long goroutines wait, what the process takes of a core while there is little to do, and how long its I/O waits
// behind goroutines that compute.
package main

import (
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"bench/harness/golang"
)

type sample = golang.Sample
type parameters = golang.Parameters

func idle(given parameters) sample {
	given.UseWorkers()
	length := time.Duration(given.Number("ms", 1_000)) * time.Millisecond
	return golang.ShareOfACore(func() { golang.Sleep(length) })
}

func eachMs(given parameters) sample {
	golang.UseWorkersBeside(given)
	ms := given.Number("ms", 1_000)
	var ran atomic.Uint64
	measured := golang.ShareOfACore(func() {
		begin := time.Now()
		for i := uint64(1); i <= ms; i++ {
			golang.Sleep(time.Until(begin.Add(time.Duration(i) * time.Millisecond)))
			go ran.Add(1)
		}
		time.Sleep(time.Millisecond)
	})
	for i := 0; ran.Load() != ms && i < 1_000; i++ {
		time.Sleep(time.Millisecond)
	}
	measured.IsRight = ran.Load() == ms
	return measured
}

func serveEcho(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			room := make([]byte, 4096)
			for {
				got, err := client.Read(room)
				if err != nil {
					return
				}
				if _, err := client.Write(room[:got]); err != nil {
					return
				}
			}
		}()
	}
}

// keepTime tells how late timers of a millisecond fire, in microseconds, one after the other, as long as they count.
func keepTime(isCounted, isOver *atomic.Bool) []float64 {
	late := make([]float64, 0, 100_000)
	for ended := false; !ended; {
		armed := time.Now()
		time.Sleep(time.Millisecond)
		ended = isOver.Load()
		if isCounted.Load() {
			late = append(late, float64(time.Since(armed).Nanoseconds())/1e3-1e3)
		}
	}
	return late
}

// askedByPeer is what bench_io_peer has seen of the server at that port.
func askedByPeer(given parameters, port int) (seen [8]float64, isRight bool) {
	arguments := []string{strconv.Itoa(port)}
	for _, each := range []struct {
		name      string
		otherwise uint64
	}{{"connections", 8}, {"ms", 1_000}, {"gap_us", 250}} {
		arguments = append(arguments, strconv.FormatUint(given.Number(each.name, each.otherwise), 10))
	}
	said, err := exec.Command(golang.BesideProgram("bench_io_peer"), arguments...).Output()
	_, bad := fmt.Sscan(string(said), &seen[0], &seen[1], &seen[2], &seen[3], &seen[4], &seen[5], &seen[6], &seen[7])
	return seen, err == nil && bad == nil && seen[0] == seen[1] && seen[2] == 0
}

const tasksPerWorker = 4

func ioUnderLoad(given parameters) sample {
	given.UseWorkers()
	taskUs, workers := given.Number("task_us", 100), given.Number("workers", 1)
	steps := golang.StepsOf(taskUs * 1_000)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	go serveEcho(listener)

	var ran atomic.Uint64
	var isCounted, isOver atomic.Bool
	timers := make(chan []float64)
	go func() { timers <- keepTime(&isCounted, &isOver) }()
	var left sync.WaitGroup
	var turn func() // each starts its successor when it ends
	turn = func() {
		golang.WorkFor(steps)
		ran.Add(1)
		if isOver.Load() {
			left.Done()
		} else {
			go turn()
		}
	}
	for i := uint64(0); taskUs != 0 && i < workers*tasksPerWorker; i++ {
		left.Add(1)
		go turn()
	}
	time.Sleep(20 * time.Millisecond)

	isCounted.Store(true)
	var seen [8]float64
	var before uint64
	measured := golang.Timed(1, 1, func() uint64 {
		var isRight bool
		before = ran.Load()
		if seen, isRight = askedByPeer(given, listener.Addr().(*net.TCPAddr).Port); isRight {
			return 1
		}
		return 0
	})
	tasks := float64(ran.Load() - before)
	isOver.Store(true)
	late := <-timers
	left.Wait()
	measured.IsRight = measured.IsRight && golang.Percentile(late, 0) >= 0 && (taskUs == 0 || tasks > 0)
	measured.Extra = map[string]float64{"io_p50_us": seen[3], "io_p99_us": seen[4], "io_p999_us": seen[5],
		"io_longest_us": seen[6], "timer_p50_us": golang.Percentile(late, 0.5), "timer_p99_us": golang.Percentile(late, 0.99),
		"timer_longest_us": golang.Percentile(late, 1), "peer_goes_first": seen[7]}
	if tasks > 0 {
		workersUs := measured.WallNs / 1e3 * float64(workers)
		measured.Items = tasks
		measured.Extra["per_task_us"] = workersUs / tasks
		measured.Extra["computed_percent"] = tasks * float64(taskUs) / workersUs * 100
	}
	return measured
}

func main() {
	golang.RunProgram("latency", []golang.Solution{
		{Name: "wake", Run: golang.Wake}, {Name: "idle", Run: idle}, {Name: "each_ms", Run: eachMs},
		{Name: "io_under_load", Run: ioUnderLoad}})
}
