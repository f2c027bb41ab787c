package main

import "context"

type demoCommand struct{}

func (demoCommand) Run(context.Context, environment) error { return nil }
