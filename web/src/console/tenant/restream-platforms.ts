import type { RestreamPreset } from '../../gen/api.js';
import { useRestream } from '../messages/restream.js';

type Texts = ReturnType<typeof useRestream>;

export const custom = 'custom';

// Platforms that give each user an address of its own, so the server has no preset for them.
const withOwnAddress: Record<string, string> = { instagram: 'Instagram', kick: 'Kick', tiktok: 'TikTok', x: 'X' };
const where = {
  youtube: 'whereYoutube', twitch: 'whereTwitch', facebook: 'whereFacebook', trovo: 'whereTrovo', instagram: 'whereInstagram',
  kick: 'whereKick', tiktok: 'whereTiktok', x: 'whereX', custom: 'whereCustom',
} as const;

// The name of a platform for people. One that is not known has the name that the API's user gave it.
export function platformName(t: Texts, platform: string, presets: RestreamPreset[] = []): string {
  if (platform === custom) return t('otherServer');
  return presets.find((preset) => preset.platform === platform)?.name ?? withOwnAddress[platform] ?? platform;
}

// The platforms of the form, and the target's own one if it is none of them.
export function platformChoices(t: Texts, presets: RestreamPreset[], current?: string): { value: string; label: string }[] {
  const ids = [...presets.map(({ platform }) => platform), ...Object.keys(withOwnAddress)]
    .filter((one, index, all) => all.indexOf(one) === index);
  if (current && current !== custom && !ids.includes(current)) ids.push(current);
  return [...ids, custom].map((value) => ({ value, label: platformName(t, value, presets) }));
}

// Where the platform shows the stream key.
export function keyPlace(t: Texts, platform: string, isPreset: boolean): string {
  return t(where[platform as keyof typeof where] ?? (isPreset ? 'wherePreset' : 'whereCustom'));
}
