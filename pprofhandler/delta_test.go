package pprofhandler

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
)

// decoded is a profile: values by the names of functions, from the innermost on, with labels behind them.
type decoded struct {
	samples         map[string][]int64
	types           []string
	taken, duration uint64
	tables          map[uint64]int // how many messages each has
}

// decode returns a profile, and checks that each reference leads somewhere.
func decode(t *testing.T, profile []byte) decoded {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(profile))
	if err != nil {
		t.Fatal(err)
	}
	message, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	parts := func(message []byte) map[uint64][]field {
		fields, err := split(message)
		if err != nil {
			t.Fatal(err)
		}
		all := map[uint64][]field{}
		for _, f := range fields {
			all[f.number] = append(all[f.number], f)
		}
		return all
	}
	top := parts(message)
	text := func(f []field) string {
		if len(f) == 0 {
			return ""
		}
		return string(top[profileString][f[0].value].bytes)
	}
	type entry struct{ table, number uint64 }
	entries := map[entry]map[uint64][]field{}
	for _, table := range []uint64{profileMapping, profileLocation, profileFunction} {
		for _, f := range top[table] {
			m := parts(f.bytes)
			entries[entry{table, m[ownNumber][0].value}] = m
		}
	}
	find := func(table, number uint64) map[uint64][]field {
		m := entries[entry{table, number}]
		if m == nil {
			t.Fatalf("nothing has the number %d in table %d", number, table)
		}
		return m
	}
	p := decoded{samples: map[string][]int64{}, tables: map[uint64]int{}}
	for number, fields := range top {
		p.tables[number] = len(fields)
	}
	if f := top[profileTime]; len(f) == 1 {
		p.taken = f[0].value
	}
	if f := top[profileDuration]; len(f) == 1 {
		p.duration = f[0].value
	}
	for _, f := range top[profileSampleType] {
		p.types = append(p.types, text(parts(f.bytes)[1])+"/"+text(parts(f.bytes)[2]))
	}
	for _, f := range top[profileSample] {
		sample := parts(f.bytes)
		var key []string
		for _, f := range sample[sampleLocation] {
			for _, number := range f.numbers() {
				location := find(profileLocation, number)
				for _, f := range location[2] {
					find(profileMapping, f.value)
				}
				for _, line := range location[4] {
					function := find(profileFunction, parts(line.bytes)[1][0].value)
					key = append(key, text(function[2])+" "+text(function[4]))
				}
			}
		}
		for _, f := range sample[sampleLabel] {
			label := parts(f.bytes)
			key = append(key, text(label[1])+"="+text(label[2]))
		}
		var values []int64
		for _, f := range sample[sampleValue] {
			for _, value := range f.numbers() {
				values = append(values, int64(value))
			}
		}
		name := strings.Join(key, " ")
		for i, sum := range p.samples[name] { // of another line of the same function
			values[i] += sum
		}
		p.samples[name] = values
	}
	maps.DeleteFunc(p.samples, func(_ string, values []int64) bool { return slices.Max(values) == 0 && slices.Min(values) == 0 })
	return p
}

var (
	profileOfTest = pprof.NewProfile("github.com/gallop-http/gallop/pprofhandler.test")
	emptyProfile  = pprof.NewProfile("github.com/gallop-http/gallop/pprofhandler.empty")
)

func addHere(value any)      { profileOfTest.Add(value, 1) }
func addElsewhere(value any) { profileOfTest.Add(value, 1) }

func write(t *testing.T, p *pprof.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The difference has what came as positive values and what went as negative ones; what stayed is not in it.
func TestDelta(t *testing.T) {
	t.Cleanup(func() {
		for _, value := range []string{"stays", "comes0", "comes1", "comes2"} {
			profileOfTest.Remove(value)
		}
	})
	addHere("stays")
	addElsewhere("goes")
	before := write(t, profileOfTest)
	profileOfTest.Remove("goes")
	for i := range 3 {
		addHere(fmt.Sprint("comes", i)) // another line than the first one
	}
	after := write(t, profileOfTest)

	taken := time.Unix(1_800_000_000, 0)
	change, err := delta(before, after, taken, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, change)
	sums := map[string]int64{}
	for key, values := range got.samples {
		function, _, _ := strings.Cut(key, " ")
		sums[path.Ext(function)] += values[0]
	}
	if want := map[string]int64{".addHere": 3, ".addElsewhere": -1}; !maps.Equal(sums, want) {
		t.Errorf("%v, want %v: %v", sums, want, got.samples)
	}
	if got.taken != uint64(taken.UnixNano()) || got.duration != uint64(time.Minute) || len(got.types) != 1 || got.types[0] != decode(t, after).types[0] {
		t.Errorf("taken %d over %d, %v", got.taken, got.duration, got.types)
	}
	nothing, err := delta(after, after, taken, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got := decode(t, nothing); len(got.samples) != 0 {
		t.Errorf("nothing has changed: %v", got.samples)
	}
}

// Minus nothing, each profile is what it was.
func TestDeltaOfAll(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	ready := make(chan struct{})
	for i := range 4 {
		pprof.Do(t.Context(), pprof.Labels("job", fmt.Sprint("job", i%2), "kind", "test"), func(context.Context) {
			go func() { ready <- struct{}{}; <-release }()
		})
		<-ready
	}
	empty := write(t, emptyProfile)
	for _, name := range []string{"goroutine", "heap", "allocs", "threadcreate"} {
		p := write(t, pprof.Lookup(name))
		change, err := delta(empty, p, time.Now(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		got, want := decode(t, change), decode(t, p)
		if !maps.EqualFunc(got.samples, want.samples, slices.Equal) || !slices.Equal(got.types, want.types) || len(want.types) == 0 {
			t.Errorf("%s: %v\nwant %v", name, got, want)
		}
		if name == "goroutine" {
			jobs := map[string]int64{}
			for key, values := range got.samples {
				if _, labels, ok := strings.Cut(key, " job="); ok {
					jobs[labels] += values[0]
				}
			}
			if want := map[string]int64{"job0 kind=test": 2, "job1 kind=test": 2}; !maps.Equal(jobs, want) {
				t.Errorf("labels %v, want %v", jobs, want)
			}
		}
	}
}

// Bytes that are not a profile are an error.
func TestDeltaOfRubbish(t *testing.T) {
	good := write(t, pprof.Lookup("goroutine"))
	pack := func(message []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(message)
		w.Close()
		return b.Bytes()
	}
	for name, bad := range map[string][]byte{
		"not compressed":      []byte("x"),
		"half":                good[:len(good)/2],
		"a tag alone":         pack([]byte{profileSample<<3 | 2}),
		"too long":            pack([]byte{profileSample<<3 | 2, 100, 1}),
		"a fixed number":      pack([]byte{profileSample<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8}),
		"no such location":    pack(appendBytes(nil, profileSample, appendNumber(nil, sampleLocation, 9))),
		"no such string":      pack(appendNumber(nil, profileDefaultType, 9)),
		"location, no number": pack(appendBytes(nil, profileLocation, nil)),
	} {
		if _, err := delta(good, bad, time.Now(), 0); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
