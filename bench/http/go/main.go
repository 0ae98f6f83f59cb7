// net/http on one processor; where the server computes as well, in goroutines.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"bench/harness/golang"
)

const ownTaskUs = 100

var (
	tasks   atomic.Uint64 // that have run
	takenNs atomic.Uint64 // what they have had of processors
)

// listen gives the port of a server that says hello, and at /tasks how many tasks have run, and what they have taken.
func listen() (*http.Server, int) {
	runtime.GOMAXPROCS(1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	say := func(path string, text func() []byte) {
		mux.HandleFunc(path, func(answer http.ResponseWriter, _ *http.Request) {
			answer.Header().Set("Content-Type", "text/plain")
			_, _ = answer.Write(text())
		})
	}
	say("/", func() []byte { return []byte("Hello, World!") })
	say("/tasks", func() []byte { return fmt.Appendf(nil, "%d %d", tasks.Load(), takenNs.Load()) })
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(listener) }()
	return server, listener.Addr().(*net.TCPAddr).Port
}

// askedByWrk is what wrk makes of the server at that port, which is this process.
func askedByWrk(given golang.Parameters, port int, more ...string) golang.Sample {
	number := func(name string, otherwise uint64) string {
		return strconv.FormatUint(given.Number(name, otherwise), 10)
	}
	arguments := append([]string{"bench/http/drive.py", "--server", strconv.Itoa(os.Getpid()), "--port", strconv.Itoa(port),
		"--seconds", number("seconds", 3), "--connections", number("connections", 50),
		"--load_percent", number("load_percent", 0)}, more...)
	said, err := exec.Command("python3", arguments...).Output()
	var requests, errors, wall, cpu, median, p99, ran, ranNs, ranCPUNs float64
	_, bad := fmt.Sscan(string(said), &requests, &errors, &wall, &cpu, &median, &p99, &ran, &ranNs, &ranCPUNs)
	if err != nil || bad != nil || requests == 0 {
		return golang.Sample{}
	}
	extra := map[string]float64{"server_cpu_us": (cpu - ranCPUNs) / requests / 1e3, "request_us": wall / requests / 1e3,
		"p50_us": median, "p99_us": p99}
	if ran > 0 {
		extra["per_task_us"] = ranNs / ran / 1e3
		extra["task_cpu_us"] = ranCPUNs / ran / 1e3
		extra["computed_percent"] = ran * ownTaskUs * 1e5 / ranNs
	}
	return golang.Sample{Items: requests, WallNs: wall, CPUNs: cpu, IsRight: errors == 0, Extra: extra}
}

func hello(given golang.Parameters) golang.Sample {
	server, port := listen()
	defer server.Close()
	return askedByWrk(given, port)
}

const (
	tasksPerWorker = 4
	mostWaiting    = 20 // a server that has fallen behind drops tasks
)

// measured notes what a task takes of a processor; until it ends no other goroutine has its thread.
func measured(task func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := threadCPUNs()
	task()
	takenNs.Add(threadCPUNs() - begin)
}

func threadCPUNs() uint64 {
	const clockThreadCPUTime = 3
	var read syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTime, uintptr(unsafe.Pointer(&read)), 0)
	return uint64(read.Nano())
}

// postDue starts each millisecond as many tasks as are due by then.
func postDue(percent, steps uint64, isOver *atomic.Bool) {
	begin, seen := time.Now(), uint64(0)
	var waiting atomic.Int64
	for !isOver.Load() {
		time.Sleep(time.Millisecond)
		due := uint64(time.Since(begin).Microseconds()) * percent / 100 / ownTaskUs
		for ; seen < due; seen++ {
			if waiting.Load() >= mostWaiting {
				continue
			}
			waiting.Add(1)
			go measured(func() {
				golang.WorkFor(steps)
				tasks.Add(1)
				waiting.Add(-1)
			})
		}
	}
}

func helloWithTasks(given golang.Parameters) golang.Sample {
	percent, steps := given.Number("tasks_percent", 100), golang.StepsOf(ownTaskUs*1_000)
	server, port := listen()
	defer server.Close()
	var isOver atomic.Bool
	defer isOver.Store(true)
	var turn func() // each starts its successor when it ends
	turn = func() {
		golang.WorkFor(steps)
		tasks.Add(1)
		if !isOver.Load() {
			go measured(turn)
		}
	}
	for i := 0; percent >= 100 && i < tasksPerWorker; i++ {
		go measured(turn)
	}
	if 0 < percent && percent < 100 {
		go postDue(percent, steps, &isOver)
	}
	measured := askedByWrk(given, port, "--tasks")
	_, hasComputed := measured.Extra["per_task_us"]
	measured.IsRight = measured.IsRight && (percent == 0 || hasComputed)
	return measured
}

func main() {
	golang.RunProgram("http", []golang.Solution{
		{Name: "hello", Run: hello}, {Name: "hello_with_tasks", Run: helloWithTasks}})
}
