/**
 * How a script learns the time, as `now`. Clocks are the server's: replicas of the gateway whose clocks differ still
 * agree on who is alive, and on what is used up.
 */
export const nowMs = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)`;
