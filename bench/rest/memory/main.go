// Command memory makes twenty goroutines fetch a list of 5 MB each, several times, in a process per client with a
// GOMEMLIMIT of 128 MiB. It prints each client's peak memory (VmHWM). It runs on Linux only.
//
//	go run ./memory
//	go run ./memory -goroutines 50 -limit 64MiB -clients gallop,go-github
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/bench/rest/data"
	"github.com/gallop-http/gallop/rest"
	fiber "github.com/gofiber/fiber/v3/client"
	"github.com/google/go-github/v92/github"
	"resty.dev/v3"
)

var (
	goroutines = flag.Int("goroutines", 20, "number of goroutines that fetch at a time")
	rounds     = flag.Int("rounds", 5, "number of fetches per goroutine")
	size       = flag.Int("size", 5<<20, "size of the list in bytes")
	limit      = flag.String("limit", "128MiB", "GOMEMLIMIT")
	clients    = flag.String("clients", "gallop,go-github,resty,fiber", "clients to measure, separated by commas")
	child      = flag.String("child", "", "run as this client of the server at the address in the first argument")
)

// fetch makes a call.
type fetch func(list *[]data.Issue) error

func main() {
	log.SetFlags(0)
	flag.Parse()
	if *child != "" {
		if err := be(*child, flag.Arg(0)); err != nil {
			log.Fatal(err)
		}
		return
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	text := data.JSON(*size)
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		ctx.SetContentType("application/json")
		ctx.Response.SetBodyRaw(text)
	}}
	go func() { log.Fatal(s.Serve(ln)) }()
	fmt.Printf("%d goroutines, %d lists of %d bytes each, GOMEMLIMIT=%s, %s, %d processors\n", *goroutines, *rounds, len(text), *limit, runtime.Version(), runtime.NumCPU())
	for name := range strings.SplitSeq(*clients, ",") {
		cmd := exec.Command(os.Args[0], "-child", name, "-goroutines", fmt.Sprint(*goroutines), "-rounds", fmt.Sprint(*rounds), ln.Addr().String())
		cmd.Env = append(os.Environ(), "GOMEMLIMIT="+*limit)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
	}
}

// be fetches and reports.
func be(name, address string) error {
	call, err := client(name, "http://"+address+"/")
	if err != nil {
		return err
	}
	begun := time.Now()
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed, lists int
	for range *goroutines {
		all.Go(func() {
			for range *rounds {
				var list []data.Issue
				err := call(&list)
				mu.Lock()
				if lists++; err != nil || len(list) == 0 {
					failed++
					log.Print(name, ": ", err)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	took := time.Since(begun)
	peak, err := status("VmHWM")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Printf("%-10s peak %s, %d of %d failed, %.2f s, %d MiB allocated, %d collections\n", name, peak, failed, lists, took.Seconds(), m.TotalAlloc>>20, m.NumGC)
	return err
}

// status returns a line of /proc/self/status.
func status(name string) (string, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return "", err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("no %s", name)
}

func client(name, url string) (fetch, error) {
	ctx := context.Background()
	switch name {
	case "gallop":
		c, err := rest.New(url)
		return func(list *[]data.Issue) error {
			_, err := c.Request().Get("issues", list)
			return err
		}, err
	case "go-github":
		c, err := github.NewClient(github.WithTransport(&http.Transport{MaxIdleConnsPerHost: *goroutines}), github.WithURLs(&url, &url))
		return func(list *[]data.Issue) error {
			r, err := c.NewRequest(ctx, "GET", "issues", nil)
			if err == nil {
				_, err = c.Do(r, list)
			}
			return err
		}, err
	case "resty":
		c := resty.New().SetBaseURL(url)
		return func(list *[]data.Issue) error {
			_, err := c.R().SetResult(list).Get("issues")
			return err
		}, nil
	case "fiber":
		c := fiber.New().SetBaseURL(url)
		return func(list *[]data.Issue) error {
			resp, err := c.Get("issues")
			if err != nil {
				return err
			}
			defer resp.Close()
			return resp.JSON(list)
		}, nil
	}
	return nil, fmt.Errorf("no client %q", name)
}
