// Command before is an application of echo, which ../after is on package web.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

type order struct {
	ID    int    `json:"id" param:"id"`
	Item  string `json:"item"`
	Count int    `json:"count"`
}

func requireToken(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Header.Get("Authorization") != "Bearer secret" {
			return echo.NewHTTPError(http.StatusUnauthorized, "missing token")
		}
		return next(c)
	}
}

func main() {
	e := echo.New()
	e.HideBanner = true
	e.Use(middleware.Recover())
	e.GET("/hello/:name", func(c echo.Context) error {
		return c.String(http.StatusOK, "hello, "+c.Param("name")+c.QueryParam("end"))
	})
	api := e.Group("/api", requireToken)
	api.PUT("/orders/:id", func(c echo.Context) error {
		var o order
		if err := c.Bind(&o); err != nil {
			return echo.NewHTTPError(http.StatusBadRequest, "invalid order")
		}
		return c.JSON(http.StatusCreated, o)
	})

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	drained := make(chan error)
	go func() {
		<-ctx.Done()
		drained <- e.Shutdown(context.Background())
	}()
	if err := e.Start(":" + os.Getenv("PORT")); err != http.ErrServerClosed {
		log.Fatal(err)
	}
	if err := <-drained; err != nil {
		log.Fatal(err)
	}
}
