import { definePlan, Key, P } from "@rankd/plan";

/** The five candidates nearest to the user, within 100 km. */
export default definePlan({
  name: "nearby",
  build: (ctx) =>
    ctx
      .candidates({ keys: [Key.latitude, Key.longitude] })
      .geo.distance({
        latitudeKey: Key.latitude,
        longitudeKey: Key.longitude,
        outKey: Key.distance_km,
        latitude: P.user_latitude.within(-90, 90),
        longitude: P.user_longitude.within(-180, 180),
      })
      .geo.nearest({ by: Key.distance_km, count: 5, maxKm: 100 }),
});
