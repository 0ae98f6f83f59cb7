// tests/package/numbers.go: writes numbers for rankd with Go's encoding/json, and reads them from what rankd writes.
//
//	go run numbers.go write < BITS      writes request.json and data.ndjson; a line of BITS is an id and the bits of a float
//	go run numbers.go read              prints the id and the bits of each number of answer.json and dump.ndjson
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"strconv"
)

type request struct {
	Candidates struct {
		ID    []int64   `json:"id"`
		Value []float64 `json:"value"`
	} `json:"candidates"`
}

type answer struct {
	Candidates []struct {
		ID     int64              `json:"id"`
		Fields map[string]float64 `json:"fields"`
	} `json:"candidates"`
}

// A record is a line of the data format: a hash, or a sorted set.
type record struct {
	Hash      string             `json:"hash,omitempty"`
	Fields    map[string]string  `json:"fields,omitempty"`
	SortedSet string             `json:"sorted_set,omitempty"`
	Scores    map[string]float64 `json:"scores,omitempty"`
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func write() {
	var asked request
	set := record{SortedSet: "set", Scores: map[string]float64{}}
	data, err := os.Create("data.ndjson")
	check(err)
	lines := json.NewEncoder(data)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var id int64
		var bits uint64
		_, err := fmt.Sscan(in.Text(), &id, &bits)
		check(err)
		value := math.Float64frombits(bits)
		asked.Candidates.ID = append(asked.Candidates.ID, id)
		asked.Candidates.Value = append(asked.Candidates.Value, value)
		name := strconv.FormatInt(id, 10)
		set.Scores[name] = value
		check(lines.Encode(record{Hash: "features:" + name, Fields: map[string]string{"stored": fmt.Sprint(value)}}))
	}
	check(lines.Encode(set))
	check(data.Close())
	text, err := json.Marshal(asked)
	check(err)
	check(os.WriteFile("request.json", text, 0o600))
}

func show(kind, id string, value float64) {
	fmt.Println(kind, id, math.Float64bits(value))
}

func read() {
	text, err := os.ReadFile("answer.json")
	check(err)
	var found answer
	check(json.Unmarshal(text, &found))
	for _, each := range found.Candidates {
		for kind, value := range each.Fields {
			show(kind, strconv.FormatInt(each.ID, 10), value)
		}
	}
	dump, err := os.Open("dump.ndjson")
	check(err)
	for lines := json.NewDecoder(dump); lines.More(); {
		var line record
		check(lines.Decode(&line))
		for id, value := range line.Scores {
			show("score", id, value)
		}
		for _, field := range line.Fields {
			value, err := strconv.ParseFloat(field, 64)
			check(err)
			show("field", line.Hash[len("features:"):], value)
		}
	}
}

func main() {
	if os.Args[1] == "write" {
		write()
	} else {
		read()
	}
}
