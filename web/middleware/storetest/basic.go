package storetest

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/gallop-http/gallop/web/middleware"
)

var basicChecks = []check{
	{name: "Store/values", test: func(s *session) {
		key := s.key("a")
		s.want("before Set", key, missing)
		s.set(key, "one", time.Hour)
		s.want("after Set", key, "one")
		s.set(key, "two", 0)
		s.want("after the second Set", key, "two")
		for _, what := range []string{"Delete", "Delete of a missing key"} {
			s.ok(s.store.Delete(s.ctx, key), what)
			s.want(what, key, missing)
		}
	}},
	{name: "Store/all values", test: func(s *session) {
		every := make([]byte, 256)
		for i := range every {
			every[i] = byte(i)
		}
		for name, value := range map[string]string{
			"all bytes": string(every), "not UTF-8": "\xff\xfe", "NUL": "\x00", "64 KiB": strings.Repeat("x", 64<<10), "a number": "007", "the empty value": "",
		} {
			s.set(s.key(name), value, 0)
			s.want(name, s.key(name), value)
		}
	}},
	{name: "Store/empty is not missing", test: func(s *session) {
		key := s.key("a")
		for name, value := range map[string][]byte{"nil": nil, "empty": {}} {
			s.ok(s.store.Delete(s.ctx, key), "Delete")
			s.ok(s.store.Set(s.ctx, key, value, 0), "Set "+name)
			s.want(name, key, "")
		}
		s.set(key, "long", 0)
		s.set(key, "", 0)
		s.want("empty in place of a value", key, "")
	}},
	{name: "Store/all keys", test: func(s *session) {
		keys := []string{
			"", s.key(""), s.key("a"), s.key("A"), s.key("a "), s.key(" a"), s.key("a\x00"), s.key("a\x00b"), s.key("a\n"), s.key("a\r\nb"), s.key("a*"), s.key("a?"),
			s.key("a/../b"), s.key("a:b"), s.key("{a}"), s.key("\xff"), s.key("\xfe"), s.key("é"), s.key("e\u0301"), s.key("%00"), s.key(strings.Repeat("k", 512))[:512],
		}
		for i, key := range keys {
			s.set(key, strings.Repeat("v", i), 0)
		}
		for i, key := range keys {
			s.want(show(key), key, strings.Repeat("v", i))
			s.ok(s.store.Delete(s.ctx, key), "Delete")
			s.want(show(key)+" after Delete", key, missing)
		}
	}},
	{name: "Store/values belong to the caller", test: func(s *session) {
		key, value := s.key("a"), []byte("one")
		s.ok(s.store.Set(s.ctx, key, value, 0), "Set")
		value[0] = 'X'
		s.want("after a change of the value that Set got", key, "one")
		got, _, err := s.store.Get(s.ctx, key)
		s.ok(err, "Get")
		if clear(got); len(got) == 3 {
			_ = append(got, 'X')
		}
		s.want("after a change of the value that Get returned", key, "one")
		got, _, err = s.store.Get(s.ctx, key)
		s.ok(err, "Get")
		s.set(key, "two", 0)
		s.ok(s.store.Delete(s.ctx, key), "Delete")
		is(s, "a value that was got before Set and Delete", string(got), "one")
	}},
	{name: "Store/context", test: func(s *session) {
		canceled, cancel := context.WithCancel(s.ctx)
		cancel()
		late, cancel := context.WithTimeout(s.ctx, -1)
		defer cancel()
		for name, ctx := range map[string]context.Context{"canceled": canceled, "too late": late} {
			key, number := s.key("a"), s.key("n")
			s.set(key, "one", 0)
			s.set(number, "1", 0)
			for call, err := range s.allCalls(ctx, key, number, time.Hour) {
				if err == nil {
					s.errorf("%s with a context that is %s has no error", call, name)
				}
			}
			s.want(name, key, "one")
			s.want(name, number, "1")
		}
	}},
	{name: "Store/negative ttl", test: func(s *session) {
		key, number := s.key("a"), s.key("n")
		for _, ttl := range []time.Duration{-1, -time.Second} {
			s.set(key, "one", 0)
			s.set(number, "1", 0)
			for call, err := range s.allCalls(s.ctx, key, number, ttl) {
				switch call {
				case "Get", "Delete", "CompareAndDelete", "Take":
				default:
					if err == nil {
						s.errorf("%s with the ttl %v has no error", call, ttl)
					}
				}
			}
			s.want("after Incr with a negative ttl", number, "1")
			s.set(key, "one", 0)
			_ = s.store.Set(s.ctx, key, []byte("two"), ttl) // which fails, see above
			s.want("after Set with a negative ttl", key, "one")
		}
	}},
	{name: "Store/many at once", test: func(s *session) {
		keys := []string{s.key("a"), s.key("b"), s.key("c")}
		all, atOnce := goroutines()
		s.together(all, atOnce, func(i int) {
			key := keys[i%len(keys)]
			switch i / len(keys) % 5 {
			case 0, 1:
				if err := s.store.Set(s.ctx, key, bytes.Repeat([]byte{byte(i)}, 1+i%300), time.Hour); err != nil {
					s.errorf("Set: %v", err)
				}
			case 2:
				if err := s.store.Delete(s.ctx, key); err != nil {
					s.errorf("Delete: %v", err)
				}
			default:
				value, found, err := s.store.Get(s.ctx, key)
				if err != nil || found && (len(value) == 0 || bytes.Count(value, value[:1]) != len(value)) {
					s.errorf("Get: %q, %v: not a value that anybody has set", value, err)
				}
			}
		})
	}},
}

// allCalls calls every method that the store has, with a key that has a value and one that has a number, and returns the errors.
func (s *session) allCalls(ctx context.Context, key, number string, ttl time.Duration) map[string]error {
	errs := map[string]error{}
	_, _, errs["Get"] = s.store.Get(ctx, key)
	errs["Set"] = s.store.Set(ctx, key, []byte("two"), ttl)
	if a, ok := s.store.(middleware.Adder); ok {
		_, _, errs["Add"] = a.Add(ctx, s.key("new"), []byte("two"), ttl)
	}
	if w, ok := s.store.(middleware.Swapper); ok {
		_, errs["CompareAndSwap"] = w.CompareAndSwap(ctx, key, []byte("one"), []byte("two"), ttl)
		_, errs["CompareAndDelete"] = w.CompareAndDelete(ctx, key, []byte("one"))
	}
	if c, ok := s.store.(middleware.Counter); ok {
		_, _, errs["Incr"] = c.Incr(ctx, number, 1, ttl)
	}
	if u, ok := s.store.(middleware.Toucher); ok {
		_, errs["Touch"] = u.Touch(ctx, key, ttl)
	}
	if k, ok := s.store.(middleware.Taker); ok {
		_, errs["Take"] = k.Take(ctx, 1, []middleware.Bucket{{Key: s.key("bucket"), Limit: 10, Window: time.Hour}})
	}
	errs["Delete"] = s.store.Delete(ctx, key)
	return errs
}
