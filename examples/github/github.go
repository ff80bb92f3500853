// Command github shows how to write an API client with package rest. It has a typed client for a few of GitHub's resources and a
// program that uses the client.
//
//	go run ./github repo golang/go
//	go run ./github issues golang/go 20
//	go run ./github file golang/go README.md
//	GITHUB_TOKEN=… go run ./github comment owner/name 7 "the text"
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop/rest"
)

// GitHub is a client for GitHub's REST API.
type GitHub struct{ api *rest.Client }

// NewGitHub returns a client for the API at base. It authenticates with token, unless token is empty.
func NewGitHub(base, token string, options ...rest.Option) (*GitHub, error) {
	options = append([]rest.Option{
		rest.WithUserAgent("gallop-example"),
		rest.WithHeader("Accept", "application/vnd.github+json"),
		rest.WithHeader("X-GitHub-Api-Version", "2022-11-28"),
		rest.WithTimeout(time.Minute),
		rest.WithCache(8 << 20), // unchanged resources do not count against the rate limit
	}, options...)
	if token != "" {
		options = append(options, rest.WithAuth(rest.Bearer(token)))
	}
	api, err := rest.New(base, options...)
	return &GitHub{api}, err
}

// Repo names a repository.
type Repo struct{ Owner, Name string }

// ParseRepo reads owner/name.
func ParseRepo(s string) (r Repo, err error) {
	var ok bool
	if r.Owner, r.Name, ok = strings.Cut(s, "/"); !ok {
		err = fmt.Errorf("%q is not owner/name", s)
	}
	return r, err
}

// in puts the repository into the path of a request.
func (r Repo) in(request *rest.Request) {
	request.SetPathValue("owner", r.Owner).SetPathValue("repo", r.Name)
}

// Repository describes a repository.
type Repository struct {
	FullName    string    `json:"full_name"`
	Description string    `json:"description"`
	Stars       int       `json:"stargazers_count"`
	PushedAt    time.Time `json:"pushed_at"`
}

// Repository returns the description of r.
func (g *GitHub) Repository(ctx context.Context, r Repo) (Repository, error) {
	return rest.Get[Repository](ctx, g.api, "repos/{owner}/{repo}", r.in)
}

// User is a GitHub account.
type User struct {
	Login string `json:"login"`
}

// Issue is an issue or a pull request.
type Issue struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	State  string `json:"state"`
	User   User   `json:"user"`
}

// Issues returns an iterator over the issues with a state: open, closed or all. Pages are fetched as
// they are needed.
func (g *GitHub) Issues(ctx context.Context, r Repo, state string) iter.Seq2[Issue, error] {
	return rest.PagesByLink[Issue](ctx, g.api, "repos/{owner}/{repo}/issues", r.in, rest.SetQuery("state", state), rest.SetQuery("per_page", "100"))
}

// Comment is a comment on an issue.
type Comment struct {
	Body string `json:"body"`
	URL  string `json:"html_url,omitempty"`
}

// AddComment comments on an issue.
func (g *GitHub) AddComment(ctx context.Context, r Repo, issue int, text string) (Comment, error) {
	return rest.Post[Comment](ctx, g.api, "repos/{owner}/{repo}/issues/{issue}/comments", Comment{Body: text},
		r.in, rest.SetPathValue("issue", strconv.Itoa(issue)))
}

// CopyFile streams a file of the default branch to w.
func (g *GitHub) CopyFile(ctx context.Context, r Repo, path string, w io.Writer) error {
	request := g.api.Request().SetContext(ctx).SetHeader("Accept", "application/vnd.github.raw+json").SetPathValue("path", path)
	r.in(request)
	_, err := request.Get("repos/{owner}/{repo}/contents/{path...}", w)
	return err
}

// explain returns a message that says what the user can do about an error.
func explain(err error) string {
	var limited *rest.RateLimitError
	var auth *rest.AuthError
	var api *rest.APIError
	switch {
	case errors.As(err, &limited) && !limited.Rate.Reset.IsZero():
		return "GitHub answers again at " + limited.Rate.Reset.Format(time.TimeOnly) + "; with a GITHUB_TOKEN there is more"
	case errors.As(err, &auth):
		return "the GITHUB_TOKEN is not accepted"
	case errors.As(err, &api) && api.StatusCode == 404:
		return "there is no such thing, or it is not for everybody to see"
	}
	return err.Error()
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	g, err := NewGitHub("https://api.github.com/", os.Getenv("GITHUB_TOKEN"))
	if err == nil {
		err = run(ctx, g, os.Args[1:], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, explain(err))
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: github repo|issues|file|comment owner/name [argument...]")

func run(ctx context.Context, g *GitHub, args []string, out io.Writer) error {
	if len(args) < 2 {
		return errUsage
	}
	repo, err := ParseRepo(args[1])
	if err != nil {
		return err
	}
	switch what, args := args[0], args[2:]; {
	case what == "repo":
		r, err := g.Repository(ctx, repo)
		if err == nil {
			fmt.Fprintf(out, "%s: %s\n%d stars, last pushed to %s\n", r.FullName, r.Description, r.Stars, r.PushedAt.Format(time.DateOnly))
		}
		return err
	case what == "issues" && len(args) == 1:
		left, err := strconv.Atoi(args[0])
		if err != nil || left < 0 {
			return errUsage
		}
		for issue, err := range g.Issues(ctx, repo, "open") {
			if err != nil || left == 0 {
				return err
			}
			fmt.Fprintf(out, "#%d %s (%s)\n", issue.Number, issue.Title, issue.User.Login)
			left--
		}
		return nil
	case what == "file" && len(args) == 1:
		return g.CopyFile(ctx, repo, args[0], out)
	case what == "comment" && len(args) == 2:
		number, err := strconv.Atoi(args[0])
		if err != nil {
			return errUsage
		}
		comment, err := g.AddComment(ctx, repo, number, args[1])
		if err == nil {
			fmt.Fprintln(out, comment.URL)
		}
		return err
	}
	return errUsage
}
