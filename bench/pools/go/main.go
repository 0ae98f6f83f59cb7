// Many small goroutines that one goroutine starts.
package main

import "bench/harness/golang"

func submit(given golang.Parameters) golang.Sample {
	given.UseWorkers()
	tasks := given.Number("tasks", 100_000)
	return golang.Timed(float64(tasks), tasks*(tasks-1)/2, func() uint64 {
		results := make([]chan uint64, tasks)
		for i := range results {
			results[i] = make(chan uint64, 1)
			go func(i int) { results[i] <- uint64(i) }(i)
		}
		total := uint64(0)
		for _, each := range results {
			total += <-each
		}
		return total
	})
}

func main() {
	golang.RunProgram("pools", []golang.Solution{{Name: "spread", Run: golang.OfLength}, {Name: "submit", Run: submit}})
}
