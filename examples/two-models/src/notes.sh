#!/bin/sh
# FIXME: two notes in one second have one name
date +%s
