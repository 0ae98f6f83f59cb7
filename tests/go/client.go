// tests/go/client.go: a client of gRPC in Go, which compares the answers of `rankd serve` by gRPC with those by HTTP.
//
//	client ADDRESS
//
// It prints one line for each part that it has checked. It needs the demo project and `--events`.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"reflect"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"rankd.test/client/rankdpb"
)

const (
	plan     = "home_feed"
	patience = time.Minute
)

var users = []int64{42, 7}

// require ends the program with a message unless a condition holds.
func require(condition bool, format string, values ...any) {
	if !condition {
		log.Fatalf(format, values...)
	}
}

// post sends JSON and returns the decoded answer. Numbers keep all their digits.
func post(url string, body any) map[string]any {
	text, err := json.Marshal(body)
	require(err == nil, "%v", err)
	answer, err := http.Post(url, "application/json", bytes.NewReader(text))
	require(err == nil, "%v", err)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	require(err == nil && answer.StatusCode == http.StatusOK, "%s answers %s: %s", url, answer.Status, content)
	return decode(content)
}

func decode(text []byte) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out map[string]any
	require(decoder.Decode(&out) == nil, "not a JSON object: %s", text)
	return out
}

func idOf(user int64) *rankdpb.Id { return &rankdpb.Id{Kind: &rankdpb.Id_Integer{Integer: user}} }

func requestFor(plan string, user int64) *rankdpb.RankRequest {
	return &rankdpb.RankRequest{Plan: plan, UserId: idOf(user)}
}

// byHTTP ranks for the same user by HTTP. The members are in the order of the message, because the server makes the id
// of a request without an id from its text.
func byHTTP(url string, user int64) map[string]any {
	return post(url+"/v1/rank", struct {
		UserID int64  `json:"user_id"`
		Plan   string `json:"plan"`
	}{user, plan})
}

// valueIn returns the value of a column in a row, in the form in which encoding/json writes it.
func valueIn(column *rankdpb.Column, row int) any {
	switch {
	case len(column.Integers) != 0:
		return column.Integers[row]
	case len(column.Numbers) != 0:
		return column.Numbers[row]
	case len(column.Texts) != 0:
		return column.Texts[row]
	case len(column.Flags) != 0:
		return column.Flags[row]
	default:
		return column.Vectors[row].Values
	}
}

// httpForm returns the answer as HTTP writes it.
func httpForm(answer *rankdpb.RankResponse) map[string]any {
	candidates := []any{}
	for row, id := range answer.Candidates.Ids {
		fields := map[string]any{}
		for name, column := range answer.Candidates.Columns {
			isNull := false
			for _, each := range column.Nulls {
				isNull = isNull || int(each) == row
			}
			if !isNull {
				fields[name] = valueIn(column, row)
			}
		}
		candidates = append(candidates, map[string]any{"id": id, "fields": fields})
	}
	out := map[string]any{
		"request_id": answer.RequestId, "engine_request_id": answer.EngineRequestId, "plan": answer.Plan,
		"candidates": candidates,
	}
	if answer.NextCursor != "" {
		out["next_cursor"] = answer.NextCursor
	}
	if len(answer.Experiments) != 0 {
		out["experiments"] = answer.Experiments
	}
	return out
}

// requireEqual compares an answer with that of HTTP, field by field. Doubles are compared as numbers, because the two
// languages write them differently.
func requireEqual(answer *rankdpb.RankResponse, expected map[string]any) {
	text, err := json.Marshal(httpForm(answer))
	require(err == nil, "%v", err)
	got, want := plain(decode(text)), plain(expected)
	require(reflect.DeepEqual(got, want), "gRPC answers\n%v\nand HTTP\n%v", got, want)
}

func plain(value any) any {
	switch from := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, each := range from {
			out[name] = plain(each)
		}
		return out
	case []any:
		out := []any{}
		for _, each := range from {
			out = append(out, plain(each))
		}
		return out
	case json.Number:
		if whole, err := from.Int64(); err == nil {
			return whole
		}
		number, err := from.Float64()
		require(err == nil, "%v", err)
		if whole := int64(number); float64(whole) == number {
			return whole
		}
		return number
	default:
		return value
	}
}

func checkRank(ctx context.Context, ranking rankdpb.RankingClient, url string) {
	for _, user := range users {
		answer, err := ranking.Rank(ctx, requestFor(plan, user))
		require(err == nil, "%v", err)
		require(len(answer.Candidates.Ids) > 0, "there are no candidates for user %d", user)
		requireEqual(answer, byHTTP(url, user))
		fmt.Printf("Rank for user %d: %d candidates as by HTTP\n", user, len(answer.Candidates.Ids))
	}
	_, err := ranking.Rank(ctx, requestFor("none", users[0]))
	require(status.Code(err) == codes.NotFound, "an unknown plan: %v", err)
	for _, each := range status.Convert(err).Details() {
		detail, ok := each.(*rankdpb.Error)
		require(ok && detail.Code == "unknown_plan", "the details of an unknown plan are %v", each)
		fmt.Printf("Rank of an unknown plan: %s, %s\n", status.Code(err), detail.Code)
	}
}

func checkBatch(ctx context.Context, ranking rankdpb.RankingClient, url string) {
	requests := []*rankdpb.RankRequest{requestFor(plan, users[0]), requestFor("none", users[0]), requestFor(plan, users[1])}
	stream, err := ranking.RankBatch(ctx, &rankdpb.RankBatchRequest{Requests: requests})
	require(err == nil, "%v", err)
	seen := map[uint32]bool{}
	for {
		part, err := stream.Recv()
		if err == io.EOF {
			break
		}
		require(err == nil, "%v", err)
		require(!seen[part.Index], "request %d is answered twice", part.Index)
		seen[part.Index] = true
		request := requests[part.Index]
		if request.Plan == "none" {
			require(part.GetError().GetCode() == "unknown_plan", "%v", part)
			continue
		}
		requireEqual(part.GetResponse(), byHTTP(url, request.UserId.GetInteger()))
	}
	require(len(seen) == len(requests), "%d of %d requests are answered", len(seen), len(requests))
	fmt.Printf("RankBatch: %d answers\n", len(seen))
}

func checkEvents(ctx context.Context, ranking rankdpb.RankingClient, url string) {
	event := &rankdpb.Event{EventId: "go-1", Type: "click", UserId: idOf(users[0]), ItemId: idOf(17)}
	answer, err := ranking.Events(ctx, &rankdpb.EventsRequest{Events: []*rankdpb.Event{event}})
	require(err == nil, "%v", err)
	require(answer.Accepted == 1 && answer.Duplicates == 0, "%v", answer)
	again := post(url+"/v1/events", map[string]any{
		"events": []any{map[string]any{"event_id": "go-1", "type": "click", "user_id": users[0], "item_id": 17}}})
	require(plain(again["duplicates"]) == int64(1), "HTTP answers %v to the same event", again)
	fmt.Printf("Events: %d accepted, and a duplicate by HTTP\n", answer.Accepted)
}

func checkEnds(ctx context.Context, connection *grpc.ClientConn, ranking rankdpb.RankingClient) {
	past, stop := context.WithTimeout(ctx, time.Nanosecond)
	defer stop()
	_, err := ranking.Rank(past, requestFor(plan, users[0]))
	require(status.Code(err) == codes.DeadlineExceeded, "a deadline that has passed: %v", err)
	// The server is healthy, so a watch ends only by its deadline, or because it is cancelled.
	health := grpc_health_v1.NewHealthClient(connection)
	for _, expected := range []codes.Code{codes.DeadlineExceeded, codes.Canceled} {
		limited, cancel := context.WithTimeout(ctx, patience)
		if expected == codes.DeadlineExceeded {
			cancel()
			limited, cancel = context.WithTimeout(ctx, time.Second)
		}
		watch, err := health.Watch(limited, &grpc_health_v1.HealthCheckRequest{})
		require(err == nil, "%v", err)
		if expected == codes.Canceled {
			state, err := watch.Recv()
			require(err == nil && state.Status == grpc_health_v1.HealthCheckResponse_SERVING, "%v %v", state, err)
			cancel()
		}
		for err == nil {
			_, err = watch.Recv()
		}
		cancel()
		require(status.Code(err) == expected, "a watch ends with %v", err)
		fmt.Printf("Watch: %s\n", expected)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = ranking.Rank(cancelled, requestFor(plan, users[0]))
	require(status.Code(err) == codes.Canceled, "a cancelled call: %v", err)
}

func main() {
	log.SetFlags(0)
	require(len(os.Args) == 2, "usage: client ADDRESS")
	address := os.Args[1]
	ctx, cancel := context.WithTimeout(context.Background(), 10*patience)
	defer cancel()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require(err == nil, "%v", err)
	defer connection.Close()
	ranking := rankdpb.NewRankingClient(connection)
	url := "http://" + address
	checkRank(ctx, ranking, url)
	checkBatch(ctx, ranking, url)
	checkEvents(ctx, ranking, url)
	checkEnds(ctx, connection, ranking)
}
