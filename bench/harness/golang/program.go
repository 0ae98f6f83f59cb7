// Package golang: a measuring program in Go that speaks the protocol of bench/README.md.
package golang

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Sample is what one run measured.
type Sample struct {
	Items   float64
	WallNs  float64
	CPUNs   float64
	IsRight bool
	Extra   map[string]float64
}

// Parameters are what the command line says about the case, and a note of what was asked for.
type Parameters struct {
	given map[string]string
	used  map[string]any
}

// Number is the value of a parameter.
func (p Parameters) Number(name string, otherwise uint64) uint64 {
	value := otherwise
	if text, ok := p.given[name]; ok {
		value = toNumber(name, text)
	}
	p.used[name] = value
	return value
}

// Word is the same for words.
func (p Parameters) Word(name, otherwise string) string {
	value := otherwise
	if text, ok := p.given[name]; ok {
		value = text
	}
	p.used[name] = value
	return value
}

// UseWorkers lets so many threads run goroutines.
func (p Parameters) UseWorkers() {
	runtime.GOMAXPROCS(int(p.Number("workers", 1)))
}

// Solution is a case, and how it is solved.
type Solution struct {
	Name string
	Run  func(Parameters) Sample
}

// Timed says how long run takes; right when it gives expected.
func Timed(items float64, expected uint64, run func() uint64) Sample {
	runtime.GC() // what came before is not part of it
	cpu := cpuNs()
	begin := time.Now()
	result := run()
	wall := time.Since(begin)
	return Sample{Items: items, WallNs: float64(wall.Nanoseconds()), CPUNs: cpuNs() - cpu, IsRight: result == expected}
}

func cpuNs() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano() + usage.Stime.Nano())
}

func peakKib() uint64 {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "VmHWM:" {
			return toNumber("VmHWM", words[1])
		}
	}
	return 0
}

var sink atomic.Uint64

// WorkFor is work of a given length: each step needs the one before.
func WorkFor(steps uint64) {
	value := steps
	for ; steps > 0; steps-- {
		value = value*6364136223846793005 + 1
	}
	if value == 42 {
		sink.Store(value)
	}
}

// StepsOf says how many steps take so long on this machine.
func StepsOf(ns uint64) uint64 {
	if ns == 0 {
		return 0
	}
	const steps = 100_000
	best := time.Duration(1 << 62)
	for i := 0; i < 20; i++ {
		begin := time.Now()
		WorkFor(steps)
		best = min(best, time.Since(begin))
	}
	return uint64(float64(ns) * steps / float64(best.Nanoseconds()))
}

// Percentile is the smallest value that no less than this part of the values does not exceed.
func Percentile(values []float64, part float64) float64 {
	sort.Float64s(values)
	index := int(part*float64(len(values)) + 0.999999)
	return values[max(1, min(index, len(values)))-1]
}

// BesideProgram is the path of a program in C++ that the build has put into bin, in a folder around the one of this
// program.
func BesideProgram(name string) string {
	own, _ := os.Executable()
	for folder := filepath.Dir(own); folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		path := filepath.Join(folder, "bin", name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	refuse(name + " was not built")
	return ""
}

func refuse(why string) {
	fmt.Fprintln(os.Stderr, why+"; bench/README.md tells the protocol")
	os.Exit(2)
}

func toNumber(name, text string) uint64 {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		refuse("--" + name + " needs a number")
	}
	return value
}

func printLine(fields map[string]any) {
	text, _ := json.Marshal(fields)
	fmt.Println(string(text))
}

// RunProgram is the main function of a program.
func RunProgram(subject string, solutions []Solution) {
	given := map[string]string{"warmups": "1", "rounds-in-process": "1"}
	for i := 1; i < len(os.Args); i++ {
		if os.Args[i] == "--list" {
			for _, each := range solutions {
				printLine(map[string]any{"subject": subject, "case": each.Name, "contender": "Go", "kind": "rival"})
			}
			return
		}
		if !strings.HasPrefix(os.Args[i], "--") || i+1 == len(os.Args) {
			refuse("what is " + os.Args[i])
		}
		given[os.Args[i][2:]] = os.Args[i+1]
		i++
	}
	take := func(name string) string {
		value := given[name]
		delete(given, name)
		return value
	}
	name, contender := take("case"), take("contender")
	warmups, rounds := toNumber("warmups", take("warmups")), toNumber("rounds", take("rounds-in-process"))
	for _, each := range solutions {
		if each.Name == name && (contender == "" || contender == "Go") {
			runSolution(subject, each, Parameters{given, map[string]any{}}, warmups, rounds)
		}
	}
	refuse("nobody solves " + name + " " + contender)
}

func runSolution(subject string, what Solution, given Parameters, warmups, rounds uint64) {
	isRight := true
	for i := uint64(0); i < warmups+rounds; i++ {
		sample := what.Run(given)
		isRight = isRight && sample.IsRight
		if i < warmups {
			continue
		}
		if sample.Extra == nil {
			sample.Extra = map[string]float64{}
		}
		printLine(map[string]any{"subject": subject, "case": what.Name, "params": given.used, "contender": "Go",
			"kind": "rival", "version": runtime.Version(), "compiler": runtime.Version(), "round": i - warmups,
			"items": sample.Items, "wall_ns": sample.WallNs, "cpu_ns": sample.CPUNs, "peak_kib": peakKib(),
			"extra": sample.Extra, "check": sample.IsRight})
	}
	for name := range given.given {
		if _, ok := given.used[name]; !ok {
			refuse(what.Name + " has no parameter " + name)
		}
	}
	if !isRight {
		os.Exit(1)
	}
	os.Exit(0)
}
