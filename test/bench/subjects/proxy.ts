import proxy from "@fastify/http-proxy";
import Fastify from "fastify";
import { reportTo } from "./report.ts";

// What would run in the gateway's place: a proxy that judges nothing, at its own defaults.
const app = Fastify({ logger: false });
await app.register(proxy, { upstream: process.argv[2] ?? "" });
const address = await app.listen({ host: "127.0.0.1", port: 0 });
reportTo(process, Number(new URL(address).port));
