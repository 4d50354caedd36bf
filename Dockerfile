FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Not `npm ci`: it refuses a lock file that lacks an optional package of some other platform.
RUN npm install --no-save --include=dev --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npx tsc -p tsconfig.build.json

FROM node:22-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm install --no-save --omit=dev --no-audit --no-fund && npm cache clean --force

FROM node:22-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 SEMEL_DATA_DIR=/data
WORKDIR /app
RUN mkdir /data && chown node:node /data
COPY package.json ./
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
USER node
VOLUME /data
EXPOSE 3000
ENTRYPOINT ["node", "dist/main.js"]
CMD ["all"]
