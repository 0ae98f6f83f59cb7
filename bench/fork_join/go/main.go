// The problems of fork-join in Go: a goroutine for each fork.
package main

import (
	"sync"

	"bench/harness/golang"
)

type sample = golang.Sample
type parameters = golang.Parameters

func fibOf(n uint64) uint64 {
	low, high := uint64(0), uint64(1)
	for ; n > 0; n-- {
		low, high = high, low+high
	}
	return low
}

func fib(n uint64) uint64 {
	if n < 2 {
		return n
	}
	left := make(chan uint64, 1)
	go func() { left <- fib(n - 1) }()
	right := fib(n - 2)
	return <-left + right
}

func runFib(given parameters) sample {
	given.UseWorkers()
	n := given.Number("n", 34)
	return golang.Timed(2*float64(fibOf(n+1))-1, fibOf(n), func() uint64 { return fib(n) })
}

// sum adds up of(i) for each i below count, each in a goroutine of its own.
func sum(count uint64, of func(uint64) uint64) uint64 {
	results := make([]uint64, count)
	var all sync.WaitGroup
	all.Add(int(count))
	for i := uint64(0); i < count; i++ {
		go func(i uint64) {
			results[i] = of(i)
			all.Done()
		}(i)
	}
	all.Wait()
	total := uint64(0)
	for _, each := range results {
		total += each
	}
	return total
}

func skynet(number, size uint64) uint64 {
	if size == 1 {
		return number
	}
	step := size / 10
	return sum(10, func(i uint64) uint64 { return skynet(number+i*step, step) })
}

func runSkynet(given parameters) sample {
	given.UseWorkers()
	leaves := uint64(1)
	for i := given.Number("depth", 7); i > 0; i-- {
		leaves *= 10
	}
	return golang.Timed(float64(leaves), leaves*(leaves-1)/2, func() uint64 { return skynet(0, leaves) })
}

type board [16]uint8

func (b *board) allows(row, column int) bool {
	for above := 0; above < row; above++ {
		distance, taken := row-above, int(b[above])
		if taken == column || taken+distance == column || column+distance == taken {
			return false
		}
	}
	return true
}

func nqueens(queens board, row, n int) uint64 {
	if row == n {
		return 1
	}
	var results [16]uint64
	var all sync.WaitGroup
	for column := 0; column < n; column++ {
		if queens.allows(row, column) {
			all.Add(1)
			next := queens
			next[row] = uint8(column)
			go func(column int) {
				results[column] = nqueens(next, row+1, n)
				all.Done()
			}(column)
		}
	}
	all.Wait()
	total := uint64(0)
	for _, each := range results {
		total += each
	}
	return total
}

func runNqueens(given parameters) sample {
	given.UseWorkers()
	known := []uint64{1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596}
	n := given.Number("n", 12)
	return golang.Timed(1, known[n], func() uint64 { return nqueens(board{}, 0, int(n)) })
}

func utsChild(state, i uint64) uint64 {
	z := state + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func uts(state, children uint64) uint64 {
	if children == 0 {
		return 1
	}
	return 1 + sum(children, func(i uint64) uint64 {
		child := utsChild(state, i)
		if (child>>32)%1000 < 120 {
			return uts(child, 8)
		}
		return 1
	})
}

func runUts(given parameters) sample {
	given.UseWorkers()
	roots, nodes := given.Number("roots", 40_000), given.Number("nodes", 0)
	return golang.Timed(float64(nodes), nodes, func() uint64 { return uts(1, roots) })
}

func main() {
	golang.RunProgram("fork_join", []golang.Solution{
		{Name: "fib", Run: runFib}, {Name: "skynet", Run: runSkynet}, {Name: "nqueens", Run: runNqueens},
		{Name: "uts", Run: runUts}})
}
