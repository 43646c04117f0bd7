# syntax=docker/dockerfile:1

# What is compiled and installed here runs nowhere: only its results are copied.
FROM node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build
RUN npm ci --omit=dev --ignore-scripts

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
COPY package.json LICENSE ./
COPY policies ./policies
# The evidence's usual place: a volume that is made here belongs to the user below.
RUN mkdir /evidence && chown node:node /evidence
USER node
EXPOSE 8080 9464
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["--help"]
