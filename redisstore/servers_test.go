package redisstore

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/redis/go-redis/v9"
)

// server is a redis-server that a test has started.
type server struct {
	addr    string
	command *exec.Cmd
	dir     string
	options []string
}

// startServer starts a redis-server, which stops when the test ends. It skips the test if Redis is not installed.
func startServer(t testing.TB, options ...string) *server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server: install redis-server to test with it")
	}
	s := &server{addr: wiretest.FreeAddress(t), dir: t.TempDir(), options: options}
	s.start(t)
	t.Cleanup(s.stop)
	return s
}

// start starts the process and waits until it responds.
func (s *server) start(t testing.TB) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	arguments := []string{"--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no"}
	if len(s.options) > 0 && strings.HasSuffix(s.options[0], ".conf") {
		arguments = []string{s.options[0], "--port", port, "--bind", "127.0.0.1", "--dir", s.dir}
		arguments = append(arguments, s.options[1:]...)
	} else {
		arguments = append(arguments, s.options...)
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.command = exec.Command("redis-server", arguments...)
	s.command.Stdout, s.command.Stderr = log, log
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1})
	defer client.Close()
	eventually(t, "redis-server responds", func() error { return client.Ping(t.Context()).Err() })
}

// stop ends the process as a crash would.
func (s *server) stop() {
	if s.command != nil {
		s.command.Process.Kill()
		s.command.Wait()
		s.command = nil
	}
}

// eventually waits until a step succeeds.
func eventually(t testing.TB, what string, step func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = step(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// open returns a client of a server.
func (s *server) open(t testing.TB) redis.UniversalClient {
	client := redis.NewUniversalClient(Options(s.addr))
	t.Cleanup(func() { client.Close() })
	return client
}

// patient returns options for tests with many calls at once, on a machine that may be slow.
func patient(addrs ...string) *redis.UniversalOptions {
	options := Options(addrs...)
	options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = 20*time.Second, 20*time.Second, 20*time.Second
	return options
}

// startCluster starts three servers that form a cluster, and returns a client of it.
func startCluster(t testing.TB) redis.UniversalClient {
	t.Helper()
	var nodes []*server
	for range 3 {
		_, bus, err := net.SplitHostPort(wiretest.FreeAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, startServer(t, "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "2000"))
	}
	arguments := []string{"--cluster", "create"}
	for _, node := range nodes {
		arguments = append(arguments, node.addr)
	}
	out, err := exec.CommandContext(t.Context(), "redis-cli", append(arguments, "--cluster-yes")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	client := redis.NewUniversalClient(patient(nodes[0].addr, nodes[1].addr, nodes[2].addr))
	t.Cleanup(func() { client.Close() })
	eventually(t, "the cluster is complete", func() error {
		for i := range 30 { // in all slots
			if err := client.Set(t.Context(), fmt.Sprint("key", i), "", time.Second).Err(); err != nil {
				return err
			}
		}
		return nil
	})
	return client
}

// startSentinel starts a primary, a replica and a sentinel, and returns the primary and a client that asks the sentinel.
func startSentinel(t testing.TB) (primary *server, client redis.UniversalClient) {
	t.Helper()
	primary = startServer(t)
	host, port, err := net.SplitHostPort(primary.addr)
	if err != nil {
		t.Fatal(err)
	}
	replica := startServer(t, "--replicaof", host+" "+port)
	config := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("sentinel monitor main %s %s 1\nsentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n", host, port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := startServer(t, config, "--sentinel")
	options := Options(sentinel.addr)
	options.MasterName = "main"
	client = redis.NewUniversalClient(options)
	t.Cleanup(func() { client.Close() })
	eventually(t, "the replica follows", func() error {
		info, err := redis.NewClient(&redis.Options{Addr: replica.addr}).Info(context.Background(), "replication").Result()
		if err == nil && !strings.Contains(info, "master_link_status:up") {
			err = fmt.Errorf("the link is down")
		}
		return err
	})
	eventually(t, "the sentinel knows the replica", func() error {
		replicas, err := redis.NewSentinelClient(&redis.Options{Addr: sentinel.addr}).Replicas(context.Background(), "main").Result()
		if err == nil && len(replicas) == 0 {
			err = fmt.Errorf("no replicas")
		}
		return err
	})
	return primary, client
}
