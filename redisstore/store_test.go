package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/web/middleware"
	"github.com/gallop-http/gallop/web/middleware/storetest"
	"github.com/redis/go-redis/v9"
)

func TestStore(t *testing.T) {
	t.Parallel()
	client := redis.NewUniversalClient(patient(startServer(t).addr))
	defer client.Close()
	store := New(client)
	storetest.Run(t, func(*testing.T) middleware.Store { return store })
}

func TestStoreInCluster(t *testing.T) {
	t.Parallel()
	store := NewWithPrefix(startCluster(t), "{test}:") // the buckets of one call must be in one slot
	storetest.Run(t, func(*testing.T) middleware.Store { return store })
}

func TestStoreWithSentinel(t *testing.T) {
	t.Parallel()
	primary, client := startSentinel(t)
	store := New(client)
	if err := store.Set(t.Context(), "key", []byte("value"), 0); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the replica has the value", func() error { return client.Do(t.Context(), "wait", 1, 200).Err() })
	primary.stop()
	eventually(t, "the replica takes over", func() error {
		_, _, err := store.Incr(t.Context(), "counter", 1, 0)
		return err
	})
	value, found, err := store.Get(t.Context(), "key")
	if string(value) != "value" || !found || err != nil {
		t.Errorf("after the failover: %q, %v, %v", value, found, err)
	}
}

// Each method returns an error while Redis is away, frozen, full or restarted without its scripts. Afterwards, it works again.
func TestRedisFails(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	options := Options(server.addr)
	options.ReadTimeout, options.MaxRetries = time.Second, -1 // for slow machines
	client := redis.NewUniversalClient(options)
	defer client.Close()
	store := New(client)
	calls := map[string]func() error{
		"Get":    func() error { _, _, err := store.Get(t.Context(), "k"); return err },
		"Set":    func() error { return store.Set(t.Context(), "k", []byte("1"), time.Minute) },
		"Delete": func() error { return store.Delete(t.Context(), "other") },
		"Add":    func() error { _, _, err := store.Add(t.Context(), "k", nil, 0); return err },
		"CompareAndSwap": func() error {
			_, err := store.CompareAndSwap(t.Context(), "k", []byte("1"), []byte("1"), 0)
			return err
		},
		"CompareAndDelete": func() error { _, err := store.CompareAndDelete(t.Context(), "k", []byte("2")); return err },
		"Incr":             func() error { _, _, err := store.Incr(t.Context(), "n", 1, 0); return err },
		"Touch":            func() error { _, err := store.Touch(t.Context(), "k", time.Minute); return err },
		"Take": func() error {
			_, err := store.Take(t.Context(), 1, []middleware.Bucket{{Key: "b", Limit: 1000, Window: time.Second}})
			return err
		},
	}
	all := func(when string, fail bool) {
		t.Helper()
		for name, call := range calls {
			begun := time.Now()
			if err := call(); (err != nil) != fail {
				t.Errorf("%s, %s: %v", when, name, err)
			}
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("%s, %s took %v", when, name, took)
			}
		}
	}
	all("at first", false)
	server.stop()
	all("away", true)
	server.start(t)
	eventually(t, "Redis is back", calls["Set"])
	all("restarted", false)

	admin := server.open(t)
	must := func(arguments ...any) {
		t.Helper()
		if err := admin.Do(t.Context(), arguments...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	must("script", "flush")
	all("without scripts", false)
	must("client", "pause", "3000")
	for _, name := range []string{"Get", "Take"} {
		if err := calls[name](); err == nil {
			t.Errorf("frozen, %s: no error", name)
		}
	}
	eventually(t, "the pause ends", calls["Set"])
	must("config", "set", "maxmemory", "1")
	if err := calls["Set"](); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("full: %v", err)
	}
	must("config", "set", "maxmemory", "0")
	all("with room", false)
}

// A value of another kind is an error, not a missing key.
func TestForeignValues(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	client := server.open(t)
	store := NewWithPrefix(client, "app:")
	if err := client.LPush(t.Context(), "app:list", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Get(t.Context(), "list"); err == nil {
		t.Error("Get of a list: no error")
	}
	if err := store.Set(t.Context(), "text", []byte("text"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Take(t.Context(), 1, []middleware.Bucket{{Key: "text", Limit: 1, Window: time.Second}}); err == nil {
		t.Error("Take of a text: no error")
	}
	if got := client.Get(t.Context(), "app:text").Val(); got != "text" {
		t.Errorf("with the prefix: %q", got)
	}
}
