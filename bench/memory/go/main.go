// What a program in Go has resident that has run one goroutine with a timer.
package main

import (
	"os"
	"strconv"
	"strings"
	"time"

	"bench/harness/golang"
)

// residentMB is of this process, in units of 10^6 bytes.
func residentMB() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	words := strings.Fields(rest)
	if len(words) == 0 {
		return 0
	}
	kib, _ := strconv.ParseFloat(words[0], 64)
	return kib * 1024 / 1e6
}

func smallProgram(given golang.Parameters) golang.Sample {
	span := time.Duration(given.Number("ms", 1)) * time.Millisecond
	begin := time.Now()
	over := make(chan bool)
	go func() {
		time.Sleep(span)
		over <- true
	}()
	isOver := <-over
	resident := residentMB()
	took := time.Since(begin)
	return golang.Sample{Items: 1, WallNs: float64(took.Nanoseconds()), IsRight: isOver && resident > 0 && took >= span,
		Extra: map[string]float64{"resident_mb": resident}}
}

func main() {
	golang.RunProgram("memory", []golang.Solution{{Name: "small_program", Run: smallProgram}})
}
