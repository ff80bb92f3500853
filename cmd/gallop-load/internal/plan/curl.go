package plan

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// FromCurl takes target, method, headers and body from a command line of curl, such as browsers copy it.
func FromCurl(command string) (*File, error) {
	words, err := shellWords(command)
	if err != nil {
		return nil, err
	}
	if len(words) > 0 && words[0] == "curl" {
		words = words[1:]
	}
	f := &File{}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if !strings.HasPrefix(word, "-") {
			if f.Target != "" {
				return nil, fmt.Errorf("the command has two URLs, %s and %s", f.Target, word)
			}
			f.Target = word
			continue
		}
		if set := curlSwitches[word]; set != nil {
			set(f)
			continue
		}
		flag, value, joined := curlFlag(word)
		set, known := curlFlags[flag]
		if !known {
			return nil, fmt.Errorf("the flag %s of curl is not supported", flag)
		}
		if set == nil {
			continue
		}
		if !joined {
			if len(words) == 0 {
				return nil, fmt.Errorf("the flag %s needs a value", flag)
			}
			value, words = words[0], words[1:]
		}
		if err := set(f, value); err != nil {
			return nil, err
		}
	}
	if f.Target == "" {
		return nil, errors.New("the command has no URL")
	}
	return f, nil
}

// curlFlag splits --name=value and -Xvalue.
func curlFlag(word string) (flag, value string, joined bool) {
	if strings.HasPrefix(word, "--") {
		return strings.Cut(word, "=")
	}
	if len(word) > 2 && curlFlags[word[:2]] != nil {
		return word[:2], word[2:], true
	}
	return word, "", false
}

// curlFlags set values from flags. Flags without a function take no value and change nothing.
var curlFlags = map[string]func(f *File, value string) error{}

// curlSwitches set values from flags without a value.
var curlSwitches = map[string]func(f *File){
	"-k": func(f *File) { f.Insecure = true }, "--insecure": func(f *File) { f.Insecure = true },
	"-I": func(f *File) { f.Method = "HEAD" }, "--head": func(f *File) { f.Method = "HEAD" },
	"--http1.1": func(f *File) { f.Proto = "http1" }, "--http2": func(f *File) { f.Proto = "auto" }, "--http2-prior-knowledge": func(f *File) { f.Proto = "http2" },
}

func init() {
	method := func(f *File, v string) error { f.Method = v; return nil }
	header := func(f *File, v string) error { return f.Headers.Set(v) }
	named := func(name string) func(f *File, v string) error {
		return func(f *File, v string) error { f.Headers = append(f.Headers, Pair{name, v}); return nil }
	}
	data := func(f *File, v string) error {
		if strings.HasPrefix(v, "@") {
			f.BodyFile = v[1:]
			return nil
		}
		if f.Body.Given {
			v = f.Body.Text + "&" + v
		}
		return f.Body.Set(v)
	}
	form := func(f *File, v string) error {
		if !has(f.Headers, "content-type") {
			f.Headers = append(f.Headers, Pair{"Content-Type", "application/x-www-form-urlencoded"})
		}
		return data(f, v)
	}
	raw := func(f *File, v string) error { return f.Body.Set(v) }
	ignored := func(*File, string) error { return nil }
	for flags, set := range map[string]func(f *File, v string) error{
		"-X --request": method, "-H --header": header, "-A --user-agent": named("User-Agent"), "-e --referer": named("Referer"), "-b --cookie": named("Cookie"),
		"-d --data --data-ascii --data-binary": form, "--data-raw": form, "--json": func(f *File, v string) error {
			f.Headers = append(f.Headers, Pair{"Content-Type", "application/json"}, Pair{"Accept", "application/json"})
			return raw(f, v)
		},
		"-u --user": func(f *File, v string) error {
			return named("Authorization")(f, "Basic "+base64.StdEncoding.EncodeToString([]byte(v)))
		},
		"--url": func(f *File, v string) error { f.Target = v; return nil }, "--unix-socket": func(f *File, v string) error { f.Unix = v; return nil },
		"--resolve": func(f *File, v string) error { f.Resolve = v; return nil }, "--cacert": func(f *File, v string) error { f.CA = v; return nil },
		"-E --cert": func(f *File, v string) error { f.Cert = v; return nil }, "--key": func(f *File, v string) error { f.Key = v; return nil },
		"-x --proxy": func(f *File, v string) error { f.Proxy = v; return nil }, "-o --output": ignored, "-w --write-out": ignored, "-m --max-time": func(f *File, v string) error {
			return f.Request.Timeout.Set(v)
		},
		"-s --silent -S --show-error -v --verbose -i --include -L --location -f --fail --compressed -sS -g --globoff -#": nil,
	} {
		for name := range strings.FieldsSeq(flags) {
			curlFlags[name] = set
		}
	}
}

func has(headers Pairs, name string) bool {
	for _, h := range headers {
		if strings.EqualFold(h.Name, name) {
			return true
		}
	}
	return false
}

// shellWords splits a command as a shell does: with quotes, backslashes and continued lines, but without variables.
func shellWords(command string) (words []string, err error) {
	var word strings.Builder
	inWord := false
	end := func() {
		if inWord {
			words = append(words, word.String())
			word.Reset()
			inWord = false
		}
	}
	for i := 0; i < len(command); i++ {
		switch c := command[i]; c {
		case ' ', '\t', '\n', '\r':
			end()
		case '\'':
			closing := strings.IndexByte(command[i+1:], '\'')
			if closing < 0 {
				return nil, errors.New("a quote has no end")
			}
			word.WriteString(command[i+1 : i+1+closing])
			inWord = true
			i += closing + 1
		case '"':
			inWord = true
			for i++; i < len(command) && command[i] != '"'; i++ {
				if command[i] == '\\' && i+1 < len(command) && strings.IndexByte("\"\\$`\n", command[i+1]) >= 0 {
					i++
				}
				word.WriteByte(command[i])
			}
			if i >= len(command) {
				return nil, errors.New("a quote has no end")
			}
		case '\\':
			i++
			if i < len(command) && command[i] != '\n' && command[i] != '\r' {
				word.WriteByte(command[i])
				inWord = true
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	end()
	return words, nil
}
