// bench/http/go/main.go: net/http on one processor.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"bench/harness/golang"
)

func hello(given golang.Parameters) golang.Sample {
	runtime.GOMAXPROCS(1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		answer.Header().Set("Content-Type", "text/plain")
		_, _ = answer.Write([]byte("Hello, World!"))
	})
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()

	number := func(name string, otherwise uint64) string { return strconv.FormatUint(given.Number(name, otherwise), 10) }
	said, err := exec.Command("python3", "bench/http/drive.py", "--server", strconv.Itoa(os.Getpid()),
		"--port", strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), "--seconds", number("seconds", 3),
		"--connections", number("connections", 50), "--load_percent", number("load_percent", 0)).Output()
	var requests, errors, wall, cpu, median, p99 float64
	_, bad := fmt.Sscan(string(said), &requests, &errors, &wall, &cpu, &median, &p99)
	if err != nil || bad != nil || requests == 0 {
		return golang.Sample{}
	}
	return golang.Sample{Items: requests, WallNs: wall, CPUNs: cpu, IsRight: errors == 0, Extra: map[string]float64{
		"server_cpu_us": cpu / requests / 1e3, "request_us": wall / requests / 1e3, "p50_us": median, "p99_us": p99}}
}

func main() {
	golang.RunProgram("http", []golang.Solution{{Name: "hello", Run: hello}})
}
